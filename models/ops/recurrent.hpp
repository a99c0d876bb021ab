// Recurrence over whole sentences and in single steps: cells and layers, each with a plain formulation, and fused
// decoders with attention. The plain formulation of a fused decoder is the step of the model (models/translation/
// recurrent_families.cpp); tests compare the two. Fast paths sort sentences by length, so that finished ones drop out,
// and compute each weight's gradient as one product over all steps.
//
// Legend: docs/architecture.md. Activations are fp32 or bf16; the cell state of an LSTM is fp32.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "models/ops/ops.hpp"

namespace attend {

template <>
inline constexpr auto kEnumNames<CellKind> =
    std::to_array<EnumName<CellKind>>({{CellKind::lstm, "lstm"}, {CellKind::gru, "gru"}, {CellKind::tanh, "tanh"}});

namespace ops {

// The order in which a recurrence reads a ragged batch without padding: sentences by decreasing length, then position
// by position, so that finished sentences drop out and the rows of a step are a prefix of the previous step's rows.
//
// Three sentences a0 a1, b0 b1 b2, c0 are
//   order b a c,  rows b0 a0 c0 | b1 a1 | b2,  begin 0 3 5 6
// Step t consists of the packed rows [begin[t], begin[t + 1]); row i of a step continues in row i of the next.
struct Steps {
  // `reverse`: reads sentences from their last token.
  explicit Steps(const Layout& layout, bool reverse = false) : order(layout.size()), packed(layout.num_tokens()) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return layout.length(a) > layout.length(b); });
    for (std::int64_t t = 0; t < layout.max_length; ++t) {
      for (const std::int64_t b : order) {
        if (layout.length(b) <= t) break;
        const std::int64_t row = reverse ? layout.offsets[b + 1] - 1 - t : layout.offsets[b] + t;
        packed[row] = static_cast<std::int64_t>(rows.size());
        rows.push_back(row);
      }
      begin.push_back(static_cast<std::int64_t>(rows.size()));
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int64_t count(std::int64_t t) const { return t < size() ? begin[t + 1] - begin[t] : 0; }

  std::vector<std::int64_t> order;
  std::vector<std::int64_t> begin = {0};
  std::vector<std::int64_t> rows;    // the ragged row of each packed row
  std::vector<std::int64_t> packed;  // the packed row of each ragged row
};

// The weights of a cell, as in torch.nn.LSTM, GRU and RNN. Each gate has H rows, in the order i f g o, r z n, or h.
struct CellWeights {
  CellKind kind = CellKind::lstm;
  Weight weight_ih;  // [gates * H, I]
  Weight weight_hh;  // [gates * H, H]
  torch::Tensor bias_ih;
  torch::Tensor bias_hh;
};

// The state of a cell: parts of [rows, H]. The first part is the hidden state, the cell's output; an LSTM's second part
// is the cell state c, in fp32.
struct CellState {
  std::vector<torch::Tensor> parts;

  const torch::Tensor& hidden() const { return parts.front(); }
  // Selects the given rows, in the given order.
  CellState select(const torch::Tensor& rows) const;
  // Selects the first `count` rows.
  CellState first(std::int64_t count) const;
};

// One step for R rows, x [R, I].
CellState cell_step(const torch::Tensor& x_RI, const CellState& state, const CellWeights& cell);

// One direction of a layer: a cell, and whether it reads sentences from their last token.
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

// The output of a layer with one or two directions, which are concatenated: C = directions * H.
struct LayerOutput {
  torch::Tensor output_MC;
  torch::Tensor memory_MC;  // the cell state of an LSTM at each token, fp32, if wanted
  CellState last;           // the final state of each sentence, [B, C]
};
LayerOutput recurrent_layer(const LayerInput& input, std::span<const Direction> directions);

// The form of a recurrent decoder's attention, for the fused ops below: each row's query q scores the keys k_s.
//   e_s = q · k_s,  or the additive score  v · tanh(W q + k_s);  with coverage C, k_s + C_s w in place of k_s
//   a_s = softmax_s(e_s)  over all positions, or those with |s - p| <= D
//   w_s = a_s,  or if p is predicted,  a_s exp(-(s - p)² / (2 σ²)) with σ = D / 2
// The centre p in a sentence of S tokens is min(step, S - 1), or, if predicted, S sigmoid(c · tanh(P q)). Only single
// steps support coverage, C_s = Σ w_s over the previous steps.
struct AttentionForm {
  const Weight* query_AH = nullptr;   // W; null: dot products
  torch::Tensor energy_1A;            // v, fp32
  torch::Tensor coverage_A;           // w, fp32; undefined: no coverage
  std::int64_t half_width = 0;        // D; 0: all positions
  const Weight* inner_HH = nullptr;   // P; null: not predicted
  const Weight* centre_1H = nullptr;  // c

  bool is_additive() const { return query_AH != nullptr; }
  bool is_predictive() const { return inner_HH != nullptr; }
  // 1 / σ², or 0 if weights are not scaled.
  double precision() const { return is_predictive() ? 4 / static_cast<double>(half_width * half_width) : 0; }
};

// Keys and values of a batch of sentences, ragged.
struct Keys {
  torch::Tensor keys_SA;    // Score::prepare
  torch::Tensor values_SW;  // averaged by attention
  Layout layout;
};

// The rows of a decoding step.
struct AttendingRows {
  std::span<const std::int64_t> sentences;  // row r attends to sentence sentences[r]
  std::int64_t step = 0;                    // from 0
  torch::Tensor coverage_RS = {};           // C, laid out like the weights below, if the form has coverage
};

// Attention of single queries. A sentence without tokens gives zeros. Without gradient; requires may_fuse_steps.
struct Attended {
  torch::Tensor context_RW;
  torch::Tensor weights_RS;  // fp32, padded with zeros to the longest sentence
};
Attended attention_step(const AttentionForm& form, const torch::Tensor& query_RH, const Keys& memory,
                        const AttendingRows& rows);

// The inputs of the decoders below. `layout` and the memory have the same number of sentences.
struct DecoderInput {
  const torch::Tensor& embedded_ME;
  const Layout& layout;
  const Keys& memory;
  std::span<const CellState> start;  // of each layer, [B, H]
};

// Luong's decoder (models/translation/recurrent_families.hpp) under teacher forcing:
//   h_t = cells([e_t; h~_{t-1}]),  c_t = attention(h_t),  h~_t = tanh(W_c [c_t; h_t]).
// Returns h~ at every target position, [M, H]. Requires may_fuse_sequences.
struct LuongDecoder {
  std::span<const CellWeights> layers;  // the first reads [embedding; fed-back vector], or the embedding alone
  AttentionForm attention;
  const Weight& combine_HC;  // W_c over C = W + H: [context; hidden state]
  bool input_feeding = true;
  Dropout feed_dropout;                 // on the fed-back vector
  std::vector<Dropout> layer_dropouts;  // on the output of each layer but the last
  Dropout combine_dropout;              // on [context; hidden state]
};
torch::Tensor luong_decoder(const LuongDecoder& decoder, const DecoderInput& input);

// Bahdanau's decoder (models/translation/recurrent_families.hpp) without the read-out, under teacher forcing:
//   c_t = attention(h_{t-1}),  h_t = cells([e_t; c_t]).
// Returns the query h_{t-1} and the context c_t at every target position. Requires may_fuse_sequences.
struct BahdanauDecoder {
  std::span<const CellWeights> layers;  // the first reads [embedding; context]
  AttentionForm attention;
  Dropout context_dropout;              // on the context as input of the first layer
  std::vector<Dropout> layer_dropouts;  // on the output of each layer but the last
};
struct BahdanauOutput {
  torch::Tensor query_MH;
  torch::Tensor context_MW;
};
BahdanauOutput bahdanau_decoder(const BahdanauDecoder& decoder, const DecoderInput& input);

}  // namespace ops

}  // namespace attend
