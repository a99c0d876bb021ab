// Recurrence over whole sentences and single steps: cells and layers of them, each with a plain formulation, and the
// fused forms of a decoder with attention. The plain formulation of the latter is the model's step
// (models/translation/luong.cpp), which they replace if dispatch.hpp allows it; tests compare the two. Fast paths order
// sentences by length, so that finished ones leave, and compute each weight's gradient as one product per sequence.
//
// Legend: docs/architecture.md. Activations are fp32 or bf16; an LSTM's memory is fp32.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "models/ops/cell_kind.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/weight.hpp"

namespace attend {

template <>
struct EnumNames<CellKind> {
  static constexpr std::array names{std::pair{CellKind::lstm, std::string_view("lstm")},
                                    std::pair{CellKind::gru, std::string_view("gru")},
                                    std::pair{CellKind::tanh, std::string_view("tanh")}};
};

namespace ops {

// The weights of a cell, as in torch.nn.LSTM, GRU and RNN. The rows are its gates, H of each: i f g o, r z n, or h.
struct CellWeights {
  CellKind kind = CellKind::lstm;
  Weight weight_ih;  // [gates * H, I]
  Weight weight_hh;  // [gates * H, H]
  torch::Tensor bias_ih;
  torch::Tensor bias_hh;
};

// The state of a cell: parts of [rows, H]. The first part is the hidden state, which is the cell's output; an LSTM has
// its memory c as a second, in fp32.
struct CellState {
  std::vector<torch::Tensor> parts;

  const torch::Tensor& hidden() const { return parts.front(); }
  // The given rows, in that order.
  CellState select(const torch::Tensor& rows) const;
  // The first `count` rows.
  CellState first(std::int64_t count) const;
};

// One step of R rows, x [R, I].
CellState cell_step(const torch::Tensor& x_RI, const CellState& state, const CellWeights& cell);

// A direction of a layer: a cell, and whether it reads sentences from their last token.
struct Direction {
  CellWeights cell;
  bool reverse = false;
};

struct LayerInput {
  const torch::Tensor& x_MI;
  const Layout& layout;
  const CellState* start = nullptr;  // [B, directions * H]; null: zeros
  bool wants_memory = false;
};

// The output of a layer of one or two directions, those of a token concatenated, and the final states of each
// direction, [B, directions * H].
struct LayerOutput {
  torch::Tensor output_MC;  // [M, directions * H]
  torch::Tensor memory_MC;  // an LSTM's memory at each token, fp32, if wanted
  CellState last;
};
LayerOutput recurrent_layer(const LayerInput& input, std::span<const Direction> directions);

// Softmax of the dot products of each row's query with the keys of its sentence, and the weighted sum of the values:
// weights [R, longest sentence], fp32, padded with zeros; context [R, W]. A sentence without tokens gives zeros.
// Without gradient; requires may_fuse_steps.
struct DotAttention {
  torch::Tensor context_RW;
  torch::Tensor weights_RS;
};
DotAttention dot_attention(const torch::Tensor& query_RH, const torch::Tensor& keys_SH, const torch::Tensor& values_SW,
                           const Layout& memory, std::span<const std::int64_t> sentences);

// The parameters of the decoder below.
struct AttentionDecoder {
  std::span<const CellWeights> layers;  // the first reads [embedding; fed-back vector], or the embedding alone
  const Weight& combine_HC;             // W_c over C = W + H: [context; hidden state]
  bool input_feeding = true;
  Dropout feed_dropout;                 // on the fed-back vector
  std::vector<Dropout> layer_dropouts;  // on the output of each layer but the last
  Dropout combine_dropout;              // on [context; hidden state]
};

// Its input. The memory has the same number of sentences as `layout`.
struct AttentionDecoderInput {
  const torch::Tensor& embedded_ME;
  const Layout& layout;
  const torch::Tensor& keys_SH;
  const torch::Tensor& values_SW;
  const Layout& memory;
  std::span<const CellState> start;  // of each layer, [B, H]
};

// Luong's decoder with dot products over prepared keys (arXiv 1508.04025, 3.1 and 3.3), teacher forced:
//   h_t = LSTM([e_t; h~_{t-1}]),  a_t = softmax_s(h_t · key_s),  c_t = Σ_s a_ts value_s,  h~_t = tanh(W_c [c_t; h_t]).
// Returns h~ of every target position, [M, H]. Requires may_fuse_sequences.
torch::Tensor attention_decoder(const AttentionDecoder& decoder, const AttentionDecoderInput& input);

}  // namespace ops
}  // namespace attend
