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

// The chosen weights, which keep the numbers of their layers; a chosen head is alone in its layer. UserError with the
// option of `attend attention` if the place, layer or head does not exist. A sentence without weights is not changed.
SentenceAttention chosen(SentenceAttention sentence, const HeadSelection& choice);

struct WordsInPieces {
  std::vector<std::string> words;
  PiecesOfWords pieces;
};

// The words of `text` that have pieces; the first piece has the number `first`.
WordsInPieces words_in_pieces(std::string_view text, const PiecesOfWords& pieces, std::int64_t first = 0);

// The same weights between words (merge_words). Those of a decoder's self-attention, whose columns are shifted by the
// beginning of the sentence, are also between target words. Weights to pieces outside words are dropped.
SentenceAttention in_words(const SentenceAttention& sentence, const WordsInPieces& source, const WordsInPieces& target);

// What attends and what is attended to in one place. The rows of an encoder are its source. The columns of a decoder
// are its input: `beginning` and the target without its last piece (for words, where `beginning` is empty: the target).
struct AttentionAxes {
  std::vector<std::string> rows, columns;
};
AttentionAxes axes_of(const SentenceAttention& sentence, AttentionPlace place, const std::string& beginning);

// The maps of one place between its axes, as bytes: 255 is 1.
AttentionMaps maps_of(const SentenceAttention& sentence, AttentionPlace place, const std::string& beginning);

// The attention of a run to the source over the lines of `source` and given translations. A line without pieces and a
// model without attention have maps without weights. Weights below the threshold are cut as in search.
std::vector<AttentionMaps> attention_maps(const Run& run, const std::vector<std::string>& source,
                                          const std::vector<std::string>& target, double threshold);

}  // namespace attend
