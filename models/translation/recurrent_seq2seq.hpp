// What recurrent encoder-decoders share: embeddings, an encoder that is read once, a bridge from its last states to the
// decoder's first, and a decoder that is written once, as one step (`advance`). Decoding calls it token by token;
// training unrolls it over rows ordered by length, so that finished sentences leave and nothing is padded on the target
// side. A family says in which order the step attends and reads (luong.hpp).
//
//   encoder   h_s = stack of recurrent layers over the source
//   bridge    decoder layer l starts from where encoder layer l stopped (or the top one, if the decoder is deeper),
//   each
//             part of the state by an affine map of its own: hidden tanh(W h + b), an LSTM's cell W c + b. The papers
//             copy the state, which takes an encoder of one direction and the decoder's width.
//
// Tables of embeddings start small, as an output layer wants it, so embeddings are read times sqrt(E), as in arXiv
// 1706.03762, 3.4: gates and energies would otherwise start near zero, and learning takes several times as long.
//
// Legend: docs/architecture.md; E = H is the model's width.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/attention/attention.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/recurrent.hpp"
#include "models/ops/steps.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

struct RecurrentConfig {
  std::int64_t src_vocabulary = 0;
  std::int64_t tgt_vocabulary = 0;  // where embeddings are tied, of the same size
  std::int64_t width = 256;
  std::int64_t encoder_width = 256;  // of each direction
  std::int64_t encoder_layers = 1;
  std::int64_t decoder_layers = 1;
  CellKind cell = CellKind::lstm;
  bool bidirectional = true;
  bool tie_embeddings = true;  // one table for both sides; the output always reads the target's
  double dropout = 0;

  std::int64_t memory_width() const { return bidirectional ? 2 * encoder_width : encoder_width; }
};

// What the encoder made.
struct RecurrentMemory : Memory {
  Keys keys;
  std::vector<CellState> start;  // of each decoder layer, a row a sentence
};

// What the decoder remembers of R hypotheses.
struct RecurrentState : DecoderState {
  std::vector<CellState> layers;
  torch::Tensor output_RH;        // what the step before gave
  MemoryRows memory;              // what each row reads
  std::int64_t step = 0;          // steps made
  torch::Tensor weights_RS = {};  // attention of the step before, for observers

  void select(std::span<const std::int64_t> rows) override;
  void keep_first(std::int64_t count);
};

// A place where a decoder drops numbers.
struct DropoutPlace {
  ops::Dropout dropout;
  std::int64_t width = 0;
};

// The dropout of one step. The masks are drawn for all target tokens of the batch at once, as a fused form draws them,
// so that both drop the same numbers.
class StepDropout {
 public:
  StepDropout() = default;  // drops nothing
  StepDropout(std::span<const DropoutPlace> places, const ops::Steps& steps, const torch::Tensor& like);

  // Says which step comes next.
  void move_to(std::int64_t first_row, std::int64_t count) { first_ = first_row, count_ = count; }

  // Drops numbers of x [R, width] at the given place.
  torch::Tensor operator()(std::size_t place, const torch::Tensor& x) const;

 private:
  std::vector<torch::Tensor> masks_;  // in the order of steps; undefined where nothing is dropped
  std::int64_t first_ = 0, count_ = 0;
};

class RecurrentSeq2SeqImpl : public Seq2SeqImpl {
 public:
  std::shared_ptr<const Memory> encode(const Sequences& src, Pass& pass) const override;
  std::unique_ptr<DecoderState> start(const Memory& memory, std::span<const std::int64_t> sentences) const override;
  torch::Tensor step(const Memory& memory, DecoderState& state, const torch::Tensor& previous_R,
                     Pass& pass) const override;
  torch::Tensor forward(const Batch& batch, Pass& pass) const override;
  OutputHead output_head() const override { return {tgt_embedding_->weight, no_bias_}; }

 protected:
  // Registers embeddings, encoder and bridge; the family registers what it has of its own behind them.
  explicit RecurrentSeq2SeqImpl(const RecurrentConfig& config);

  // What attention reads of the encoder's output.
  virtual Keys prepare(const torch::Tensor& memory_SW, const Layout& layout) const = 0;

  // The decoder: reads one embedded token for each row, advances the state, and returns what the output layer reads,
  // [R, H].
  virtual torch::Tensor advance(const torch::Tensor& embedded_RE, RecurrentState& state, const StepDropout& dropout,
                                Pass& pass) const = 0;

  // The places where `advance` drops numbers, in the order of its indices.
  virtual std::vector<DropoutPlace> dropout_places(Pass& pass) const = 0;

  // The whole of teacher forcing as one fused op, equal to the unrolled step; undefined where this model has none.
  virtual torch::Tensor fused(const torch::Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                              std::span<const DropoutPlace> places) const = 0;

  RecurrentConfig config_;

 private:
  std::shared_ptr<RecurrentMemory> read(const Sequences& src, Pass& pass) const;
  std::unique_ptr<RecurrentState> start_state(const RecurrentMemory& memory,
                                              std::span<const std::int64_t> sentences) const;
  torch::Tensor unrolled(const torch::Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                         std::span<const DropoutPlace> places, Pass& pass) const;

  double embedding_scale_;
  Embedding src_embedding_ = nullptr;  // where tied, the target's
  Embedding tgt_embedding_ = nullptr;
  Recurrence encoder_ = nullptr;
  std::vector<std::vector<Linear>> bridges_;  // of each decoder layer, one a part of the state
  torch::Tensor no_bias_;
};

}  // namespace attend
