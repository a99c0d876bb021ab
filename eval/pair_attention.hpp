// The attention of a translation model over sentence pairs, and the word alignments that follow from it.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "data/text/conll.hpp"
#include "data/text/word_alignment.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/attention.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

// Word alignments from attention weights between pieces: for each target word, the source word with the largest weight,
// summed over the source word's pieces and averaged over the target word's (Koehn and Knowles 2017, arXiv 1706.03872,
// section 3.5). Words are those of aligned_words (data/text/word_alignment.hpp); the punctuation attached to a word,
// and the end of a sentence, do not count.
//
//   source "a whole day." pieces ▁a ▁wh ole ▁day . </s>    pieces_of_words {{0}, {1, 2}, {3}}
//   target "ganztags."    pieces ▁ganz tags . </s>         pieces_of_words {{0, 1}}
//   weights {{.1, .2, .2, .4, 0, .1}, {.1, .3, .2, .3, 0, .1}, …} merged {.2, .9, .7} / 2, so the link is 1-0

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

// The attention of a translation model over sentence pairs, as weights and as word alignments, observed in a forward
// pass over lines and their translations. Row t is the attention when predicting target piece t.

// A line and its translation as pieces.
struct PiecePair {
  std::string source;
  std::vector<Piece> source_pieces;  // up to the maximum source length
  std::string target;
  std::vector<std::int32_t> target_ids;
  std::vector<PieceBytes> target_bytes;  // byte ranges of the target pieces
};

// The pair of a line with the model's own translation, and with a given text.
PiecePair pair_in_pieces(const TokenizerPair& tokenizers, const std::string& line, const Translation& translation);
PiecePair pair_in_pieces(const TokenizerPair& tokenizers, const std::string& line, const std::string& target);

// The words of the two sides of a pair, with their pieces.
PiecesOfWords source_words(const PiecePair& pair);
PiecesOfWords target_words(const PiecePair& pair);

struct PairAttentionOptions {
  std::optional<AttentionPlace> only = {};  // place to observe; default: all
  double threshold = 0;                     // of cross-attention weights, as in search
  bool operands = false;                    // also record what the weights were computed from
  std::size_t most_pieces = kMostPieces;    // of a source, if the model has positions for them
};

// Observes pairs, several at a time, and passes each with its weights to `take`, in the order of add(). A pair without
// source pieces has no pieces and no weights. Interrupted after SIGINT or SIGTERM.
class PairAttention {
 public:
  using Take = std::function<void(const PiecePair& pair, const SentenceAttention& attention)>;

  // `trained` must outlive this.
  PairAttention(const TranslationRun& trained, const PairAttentionOptions& options, Take take);

  void add(PiecePair pair);
  void finish() { observe_waiting(); }

 private:
  void observe_waiting();

  const TranslationRun& trained_;
  PairAttentionOptions options_;
  Take take_;
  std::vector<PiecePair> waiting_;
  std::size_t longest_source_ = 0;  // of the waiting pairs
  std::size_t longest_target_ = 0;
};

// The number of decoder layers that attend to the source; 0 for a model without attention.
std::int64_t num_cross_layers(const TranslationRun& trained);

// A file of word alignments (eval/pair_attention.hpp), a line of links for each pair: those of one decoder layer,
// averaged over its heads. It appears with commit(), or not at all.
class AlignmentFile {
 public:
  // Without a `layer` the last one is used. UserError if the model of the run directory `run` has no attention to the
  // source or, naming `layer_option`, lacks that layer.
  AlignmentFile(const std::string& file, const TranslationRun& trained, const std::string& run,
                std::optional<std::int64_t> layer, const std::string& layer_option);

  // The line of a pair without pieces is empty.
  void write(const PiecePair& pair, const SentenceAttention& attention);
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  std::int64_t layer_ = 0;
};

}  // namespace attend
