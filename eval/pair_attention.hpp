// The attention of a translation model over sentence pairs, as values: a forward pass over lines and their
// translations, observed. Row t is the attention when predicting target piece t.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer/tokenizer_pair.hpp"
#include "eval/alignment.hpp"
#include "eval/attention.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

// A line and its translation in pieces.
struct PiecePair {
  std::string source;
  std::vector<Piece> source_pieces;  // as far as it is encoded
  std::string target;
  std::vector<std::int32_t> target_ids;
  std::vector<PieceBytes> target_bytes;  // where they are in it
};

// Of the model's own translation, and of a given text.
PiecePair pair_in_pieces(const TokenizerPair& tokenizers, const std::string& line, const Translation& translation);
PiecePair pair_in_pieces(const TokenizerPair& tokenizers, const std::string& line, const std::string& target);

// The words of the two sides of a pair, with their pieces.
PiecesOfWords source_words(const PiecePair& pair);
PiecesOfWords target_words(const PiecePair& pair);

struct PairAttentionOptions {
  std::optional<AttentionPlace> only = {};  // weights of one place; else of all
  double threshold = 0;                     // cuts weights to the source, as in search
};

// Observes pairs, several at a time, and passes each with its weights to `take`, in the order of add(). A pair without
// source pieces has no pieces and no weights.
class PairAttention {
 public:
  using Take = std::function<void(const PiecePair& pair, const SentenceAttention& attention)>;

  // `trained` must outlive this.
  PairAttention(const Run& trained, const PairAttentionOptions& options, Take take);

  void add(PiecePair pair);
  void finish() { observe_waiting(); }

 private:
  void observe_waiting();

  const Run& trained_;
  PairAttentionOptions options_;
  Take take_;
  std::vector<PiecePair> waiting_;
  std::size_t longest_source_ = 0;  // in pending pairs
  std::size_t longest_target_ = 0;
};

// The decoder's layers that attend to the source: 0 of a model without attention.
std::int64_t num_cross_layers(const Run& trained);

}  // namespace attend
