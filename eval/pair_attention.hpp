// The attention of a translation model over sentence pairs, as weights and as word alignments, observed in a forward
// pass over lines and their translations. Row t is the attention when predicting target piece t.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "eval/alignment.hpp"
#include "eval/attention.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

// A line and its translation as pieces.
struct PiecePair {
  std::string source;
  std::vector<Piece> source_pieces;              // up to the maximum source length
  std::vector<std::int32_t> source_labels = {};  // of the run's source factors, beside the pieces
  std::string target;
  std::vector<std::int32_t> target_ids;
  std::vector<PieceBytes> target_bytes;  // byte ranges of the target pieces
};

// The pair of a line, which is followed by the labels of source factors, with the model's own translation, and with a
// given text.
PiecePair pair_in_pieces(const TokenizerPair& tokenizers, const std::string& line, const Translation& translation);
PiecePair pair_in_pieces(const TokenizerPair& tokenizers, const std::string& line, const std::string& target);

// The words of the two sides of a pair, with their pieces.
PiecesOfWords source_words(const PiecePair& pair);
PiecesOfWords target_words(const PiecePair& pair);

struct PairAttentionOptions {
  std::optional<AttentionPlace> only = {};  // place to observe; default: all
  double threshold = 0;                     // of cross-attention weights, as in search
  bool arithmetic = false;                  // also record how the weights were computed
  std::size_t most_pieces = kMostPieces;    // of a source, if the model has positions for them
};

// Observes pairs, several at a time, and passes each with its weights to `take`, in the order of add(). A pair without
// source pieces has no pieces and no weights. Interrupted after SIGINT or SIGTERM.
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
  std::size_t longest_source_ = 0;  // of the waiting pairs
  std::size_t longest_target_ = 0;
};

// The number of decoder layers that attend to the source; 0 for a model without attention.
std::int64_t num_cross_layers(const Run& trained);

// A file of word alignments (eval/alignment.hpp), a line of links for each pair: those of one decoder layer, averaged
// over its heads. It appears with commit(), or not at all.
class AlignmentFile {
 public:
  // Without a `layer` the last one is used. UserError if the model of the run directory `run` has no attention to the
  // source or, naming `layer_option`, lacks that layer.
  AlignmentFile(const std::string& file, const Run& trained, const std::string& run, std::optional<std::int64_t> layer,
                const std::string& layer_option);

  // The line of a pair without pieces is empty.
  void write(const PiecePair& pair, const SentenceAttention& attention);
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  std::int64_t layer_ = 0;
};

}  // namespace attend
