// Word alignments from attention weights between pieces: for each target word, the source word with the largest weight,
// summed over the source word's pieces and averaged over the target word's (Koehn and Knowles 2017, arXiv 1706.03872,
// section 3.5). Words are separated by white space; the punctuation attached to a word, and the end of a sentence, do
// not count.
//
//   source "a whole day." pieces ▁a ▁wh ole ▁day . </s>    pieces_of_words {{0}, {1, 2}, {3}}
//   target "ganztags."    pieces ▁ganz tags . </s>         pieces_of_words {{0, 1}}
//   weights {{.1, .2, .2, .4, 0, .1}, {.1, .3, .2, .3, 0, .1}, …} merged {.2, .9, .7} / 2, so the link is 1-0
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/text/conllu.hpp"
#include "data/text/word_alignment.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// The byte range of a piece in a text.
struct PieceBytes {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<PieceBytes> bytes_of(const std::vector<Piece>& pieces);
std::vector<std::int32_t> ids_of(const std::vector<Piece>& pieces);

// For every word of a text, the indices of the pieces that overlap it, except those of attached punctuation.
using PiecesOfWords = std::vector<std::vector<std::int64_t>>;

// A piece outside of words, such as a single "▁", belongs to the next word.
PiecesOfWords pieces_of_words(std::string_view text, const std::vector<PieceBytes>& pieces);
// The words of a tree, each with all its pieces: punctuation is a word of its own, and the apostrophe of "n't" a part
// of its word. The words of a multiword token have the same pieces.
PiecesOfWords pieces_of_words(const TreeSentence& tree, const std::vector<Piece>& pieces);

// The positions of the pieces `ids` in the text that they decode to.
std::vector<PieceBytes> decoded_bytes(const Tokenizer& tokenizer, std::span<const std::int32_t> ids);

// Weights between words instead of pieces, fp64 [target words, source words]: the sum over a source word's pieces, the
// mean over a target word's; 0 for a word without pieces. `weights_TS`, fp32 on the CPU, may have more rows and columns
// than there are pieces in words.
torch::Tensor merge_words(const torch::Tensor& weights_TS, const PiecesOfWords& source, const PiecesOfWords& target);

// One link for each target word with pieces, in source order; ties go to the first source word.
std::vector<Link> align_words(const torch::Tensor& weights_TS, const PiecesOfWords& source,
                              const PiecesOfWords& target);

}  // namespace attend
