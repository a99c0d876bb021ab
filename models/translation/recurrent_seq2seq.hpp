// The common part of recurrent encoder-decoders: embeddings, an encoder that runs once, a bridge from its final states
// to the decoder's start states, and a decoder that is written once, as one step (`advance`). Decoding calls it token
// by token; training unrolls it over rows sorted by length, so that finished sentences drop out and there is no padding
// on the target side. A family defines the order of attention, if any, and recurrence in a step (see
// recurrent_families.hpp).
//
//   encoder   h_s = stack of recurrent layers over the source
//   bridge    decoder layer l starts from the final state of encoder layer l, or of the top one if the decoder is
//             deeper, each part of the state through its own affine map: hidden tanh(W h + b), an LSTM's cell W c + b.
//             The papers copy the state, which requires an encoder of one direction and the decoder's width.
//
// Embedding tables start with small values, as an output layer needs. Embeddings are multiplied by sqrt(E), as in arXiv
// 1706.03762, 3.4; otherwise gates and energies would start near zero, and learning would be slow.
//
// Legend: docs/architecture.md; E = H is the model's width.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/attention/recurrent_attention.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/recurrent.hpp"
#include "models/ops/recurrent.hpp"
#include "models/translation/config.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

struct RecurrentConfig {
  std::int64_t src_vocabulary = 0;
  std::int64_t tgt_vocabulary = 0;  // the same size if embeddings are tied
  std::int64_t width = 256;
  std::int64_t encoder_width = 256;  // of each direction
  std::int64_t encoder_layers = 1;
  std::int64_t decoder_layers = 1;
  CellKind cell = CellKind::lstm;
  Direction reading = Direction::both;
  StateKind keys = StateKind::hidden;    // source of the keys of attention
  StateKind values = StateKind::hidden;  // source of the values of attention
  bool tie_embeddings = true;            // one table for both sides; the output layer always uses the target's
  double dropout = 0;
  double word_dropout = 0;

  std::int64_t memory_width() const { return reading == Direction::both ? 2 * encoder_width : encoder_width; }
};

// The encoder's output.
struct RecurrentMemory : Memory {
  Keys keys;                     // if the model has attention
  torch::Tensor context_BW;      // if the model feeds one context to every step
  std::vector<CellState> start;  // start state of each decoder layer, one row per sentence

  // The inputs of a fused decoder with attention.
  ops::DecoderInput decoder_input(const torch::Tensor& embedded_ME, const Layout& target) const {
    return {.embedded_ME = embedded_ME, .layout = target, .memory = keys, .start = start};
  }
};

// The decoder's state for R hypotheses.
struct RecurrentState : DecoderState {
  std::vector<CellState> layers;
  torch::Tensor output_RH;   // output of the previous step
  torch::Tensor context_RW;  // if the model feeds one context to every step
  AttentionState attention;

  void select(std::span<const std::int64_t> rows) override;
  void keep_first(std::int64_t count);
};

// A place in the decoder where dropout is applied.
struct DropoutPlace {
  ops::Dropout dropout;
  std::int64_t width = 0;
};

// The dropout of one step. Masks are drawn for all target tokens of the batch at once, so that the fused op drops the
// same elements.
class StepDropout {
 public:
  StepDropout() = default;  // no dropout
  StepDropout(std::span<const DropoutPlace> places, const ops::Steps& steps, const torch::Tensor& like);

  // Moves to the next step.
  void move_to(std::int64_t first_row, std::int64_t count) { first_ = first_row, count_ = count; }

  // Applies dropout to x [R, width] at the given place.
  torch::Tensor operator()(std::size_t place, const torch::Tensor& x) const;

 private:
  std::vector<torch::Tensor> masks_;  // in the order of steps; undefined without dropout
  std::int64_t first_ = 0, count_ = 0;
};

class RecurrentSeq2SeqImpl : public Seq2SeqImpl {
 public:
  std::shared_ptr<const Memory> encode(const Sequences& src, Pass& pass) const override;
  std::unique_ptr<DecoderState> start(const Memory& memory, std::span<const std::int64_t> sentences) const override;
  torch::Tensor step(const Memory& memory, DecoderState& state, const torch::Tensor& previous_R,
                     Pass& pass) const override;
  torch::Tensor forward(const Batch& batch, Pass& pass) const override;
  const ops::Weight& source_table() const override { return src_embedding_->weight; }
  const ops::Weight& output_table() const override { return tgt_embedding_->weight; }
  std::optional<std::int64_t> longest_source() const override;
  std::string unfused_option() const override;

 protected:
  // Registers embeddings, encoder, a bridge from states of the given width, attention and the decoder's layers, the
  // first of which reads vectors of `decoder_input` columns; the family then registers its own modules.
  RecurrentSeq2SeqImpl(const RecurrentConfig& config, std::int64_t bridge_width, std::int64_t decoder_input,
                       std::optional<Attention> attention = {});

  // Adds the decoder's inputs to the memory: by default keys and values.
  virtual void prepare(const RecurrenceOutput& read, RecurrentMemory& memory) const;

  // The bridge's input for a part of a decoder layer's start state: by default the same part of the encoder layer's
  // final state.
  virtual torch::Tensor bridged(const std::vector<CellState>& last, std::size_t layer, std::size_t part) const;

  // The decoder: reads one embedded token per row, advances the state, and returns the output layer's input, [R, H].
  virtual torch::Tensor advance(const torch::Tensor& embedded_RE, RecurrentState& state, const StepDropout& dropout,
                                Pass& pass) const = 0;

  // The widths of the places of dropout in `advance`, by index; those between the decoder's layers follow.
  virtual std::vector<std::int64_t> dropout_widths() const = 0;

  // Teacher forcing as one fused op, equal to the unrolled step; undefined if this model has none.
  virtual torch::Tensor fused(const torch::Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                              std::span<const DropoutPlace> places) const = 0;

  // One step of the decoder's cells from x [R, input]; returns the state of the top cell, [R, H]. `between`: the first
  // dropout place between layers.
  torch::Tensor step_cells(torch::Tensor x, RecurrentState& state, const StepDropout& dropout,
                           std::size_t between) const;

  RecurrentConfig config_;
  std::optional<Attention> attention_;
  Recurrence decoder_ = nullptr;

 private:
  std::vector<DropoutPlace> dropout_places(Pass& pass) const;
  // The embeddings of a step, some replaced by those of the model's own predictions from the output [Q, H] of the
  // previous step, Q ≥ R.
  torch::Tensor with_own_words(const torch::Tensor& embedded_RE, const torch::Tensor& output_QH, Pass& pass) const;
  torch::Tensor unrolled(const torch::Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                         std::span<const DropoutPlace> places, Pass& pass) const;

  Embedding tgt_embedding_ = nullptr;
  Embedding src_embedding_ = nullptr;  // the target's if tied
  Recurrence encoder_ = nullptr;
  std::vector<std::vector<Linear>> bridges_;  // for each decoder layer, one per part of the state
};

}  // namespace attend
