// Attention weights made ready to be looked at: chosen by place, layer and head, merged from pieces to words, and
// packed as AttentionMaps.
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

// Which weights; nothing: all of them.
struct AttentionChoice {
  std::optional<AttentionPlace> place = {};
  std::optional<std::int64_t> layer = {};
  std::optional<std::int64_t> head = {};
};

// The weights chosen, which keep the numbers of their layers; a chosen head is alone in its layer. UserError naming the
// option of `attend attention` where there is no such place, layer or head. A sentence without weights stays as it is.
SentenceAttention chosen(SentenceAttention sentence, const AttentionChoice& choice);

// The words of a text and their pieces.
struct WordsInPieces {
  std::vector<std::string> words;
  PiecesOfWords pieces;
};

// The words of `text` that have pieces; the first piece has the number `first`.
WordsInPieces words_in_pieces(std::string_view text, const PiecesOfWords& pieces, std::int64_t first = 0);

// The same weights between words (merge_words). Weights of a decoder's self-attention, whose columns are shifted by the
// beginning of the sentence, are between target words, too. Weights to pieces of no word are lost.
SentenceAttention in_words(const SentenceAttention& sentence, const WordsInPieces& source, const WordsInPieces& target);

// The maps of one place, as bytes: 255 is 1. The rows of an encoder's are its source; the columns of a decoder's are
// what it has read, `beginning` and the target but for its last piece (of words: the target).
AttentionMaps maps_of(const SentenceAttention& sentence, AttentionPlace place, const std::string& beginning);

// The attention of a run to the source over the lines of `source` and the given translations of them. A line without
// pieces, and a model without attention, give maps without weights.
std::vector<AttentionMaps> attention_maps(const Run& run, const std::vector<std::string>& source,
                                          const std::vector<std::string>& target);

}  // namespace attend
