// Recurrence over whole sentences and single steps: LSTM layers and cells, each with a plain formulation, and the fused
// forms of a decoder with dot-product attention. The plain formulation of the latter is the model's step
// (models/translation/luong.cpp), which they replace if dispatch.hpp allows it; tests compare the two. Fast paths order
// sentences by length, so that finished ones leave, and compute each weight's gradient as one product per sequence.
//
// Legend: docs/architecture.md. Activations are fp32 or bf16; cell states are fp32.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/weight.hpp"

namespace attend::ops {

// The weights of one LSTM cell, as in torch.nn.LSTM; the 4H rows are the gates i, f, g, o.
struct LstmCell {
  Weight weight_ih;  // [4H, I]
  Weight weight_hh;  // [4H, H]
  torch::Tensor bias_ih;
  torch::Tensor bias_hh;
};

// i, f, o = σ(…), g = tanh(…), c' = f c + i g, h' = o tanh(c') (Hochreiter and Schmidhuber 1997, with Gers' forget
// gate).
struct LstmState {
  torch::Tensor hidden;  // [rows, H]
  torch::Tensor cell;    // [rows, H], fp32
};

// One step of R rows, x [R, I].
LstmState lstm_step(const torch::Tensor& x_RI, const LstmState& state, const LstmCell& cell);

// A layer over ragged sentences, from zero states: `directions` has one cell that reads forwards and optionally a
// second that reads backwards. The states of a token's directions are concatenated, [M, directions * H]; `last` has the
// final states, [B, directions * H].
struct LstmOutput {
  torch::Tensor output;
  LstmState last;
};
LstmOutput lstm(const torch::Tensor& x_MI, const Layout& layout, std::span<const LstmCell> directions);

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
  std::span<const LstmCell> layers;  // the first reads [embedding; fed-back vector], or the embedding alone
  const Weight& combine_HC;          // W_c over C = W + H: [context; hidden state]
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
  std::span<const LstmState> start;  // of each layer, [B, H]
};

// Luong's decoder with dot products over prepared keys (arXiv 1508.04025, 3.1 and 3.3), teacher forced:
//   h_t = LSTM([e_t; h~_{t-1}]),  a_t = softmax_s(h_t · key_s),  c_t = Σ_s a_ts value_s,  h~_t = tanh(W_c [c_t; h_t]).
// Returns h~ of every target position, [M, H]. Requires may_fuse_sequences.
torch::Tensor attention_decoder(const AttentionDecoder& decoder, const AttentionDecoderInput& input);

}  // namespace attend::ops
