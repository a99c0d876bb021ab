// Attention weights prepared for display: chosen by place, layer and head, merged from pieces into words, and packed as
// AttentionMaps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "eval/alignment.hpp"
#include "eval/attention.hpp"
#include "models/run/run.hpp"

namespace attend {

// A choice of weights; an empty member chooses all.
struct HeadSelection {
  std::optional<AttentionPlace> place = {};
  std::optional<std::int64_t> layer = {};
  std::optional<std::int64_t> head = {};
};

// The chosen weights. Layers keep their numbers; a chosen head is the only one of its layer. UserError naming the
// option of `attend attention` if the place, layer or head does not exist. A sentence without weights is not changed.
SentenceAttention chosen(SentenceAttention sentence, const HeadSelection& choice);

struct WordsInPieces {
  std::vector<std::string> words;
  PiecesOfWords pieces;
};

// The words of `text` that have pieces, whose numbers are increased by `first`.
WordsInPieces words_in_pieces(std::string_view text, const PiecesOfWords& pieces, std::int64_t first = 0);

// The same weights between words (merge_words). Columns of a decoder's self-attention, which are shifted by the
// beginning of the sentence, become target words, too. Weights to pieces outside words are dropped.
SentenceAttention in_words(const SentenceAttention& sentence, const WordsInPieces& source, const WordsInPieces& target);

// The pieces or words that attend (rows) and are attended to (columns) in one place. An encoder's rows are the source.
// A decoder's columns are its input: `beginning` and the target without its last piece, or, if `beginning` is empty
// (for words), the target.
struct AttentionAxes {
  std::vector<std::string> rows, columns;
};
AttentionAxes axes_of(const SentenceAttention& sentence, AttentionPlace place, const std::string& beginning);

// The weights of one place as bytes: 255 is 1.
AttentionMaps maps_of(const SentenceAttention& sentence, AttentionPlace place, const std::string& beginning);

// The attention of a run to the source for the lines of `source` and their given translations; maps without weights for
// a line without pieces or a model without attention. Weights below the threshold are cut as in search. Interrupted
// after SIGINT or SIGTERM.
std::vector<AttentionMaps> attention_maps(const Run& run, const std::vector<std::string>& source,
                                          const std::vector<std::string>& target, double threshold);

}  // namespace attend
