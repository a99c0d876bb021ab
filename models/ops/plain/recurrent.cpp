#include "models/ops/plain/recurrent.hpp"

#include <ATen/ATen.h>

#include "models/ops/padded.hpp"
#include "models/ops/plain/ops.hpp"

namespace attend::ops::plain {
namespace {

using torch::Tensor;

// The rows of each sentence in reverse.
Tensor reversed_rows(const Layout& layout, const Tensor& like) {
  std::vector<std::int64_t> rows;
  for (std::int64_t b = 0; b < layout.size(); ++b) {
    for (std::int64_t row = layout.offsets[b + 1]; row-- > layout.offsets[b];) rows.push_back(row);
  }
  return to_tensor(rows, like);
}

LstmOutput lstm_forwards(const Tensor& x_MI, const Layout& layout, const LstmCell& cell) {
  const auto B = layout.size(), H = cell.weight_hh.master().size(1);
  const Tensor x_BTI = pad(x_MI, layout);
  const Tensor length_B1 = lengths(layout, x_MI).unsqueeze(1);
  LstmState state{at::zeros({B, H}, x_MI.options()), at::zeros({B, H}, x_MI.options().dtype(at::kFloat))};
  std::vector<Tensor> hidden;
  for (std::int64_t t = 0; t < layout.max_length; ++t) {
    const LstmState next = plain::lstm_step(x_BTI.select(1, t), state, cell);
    const Tensor reading = length_B1.gt(t);  // a sentence that has ended keeps its state
    state = {at::where(reading, next.hidden, state.hidden), at::where(reading, next.cell, state.cell)};
    hidden.push_back(state.hidden);
  }
  return {hidden.empty() ? at::zeros({0, H}, x_MI.options()) : unpad(at::stack(hidden, 1), layout), state};
}

// True where a padded block has no token, [B, S].
Tensor pad_mask(const Layout& layout, const Tensor& like) { return missing(lengths(layout, like), layout.max_length); }

// query [B, H], keys [B, S, H], values [B, S, V].
DotAttention dot_attention(const Tensor& query, const Tensor& keys, const Tensor& values, const Tensor& pad_mask_BS) {
  const Tensor scores = at::matmul(keys.to(at::kFloat), query.to(at::kFloat).unsqueeze(2)).squeeze(2);
  const Tensor weights = masked_softmax(scores, pad_mask_BS);
  const Tensor context = at::matmul(weights.unsqueeze(1), values.to(at::kFloat)).squeeze(1);
  return {context.to(query.scalar_type()), weights};
}

}  // namespace

LstmState lstm_step(const Tensor& x_RI, const LstmState& state, const LstmCell& cell) {
  const Tensor gates = plain::linear(x_RI, cell.weight_ih, cell.bias_ih, Activation::none, {}).to(at::kFloat) +
                       plain::linear(state.hidden, cell.weight_hh, cell.bias_hh, Activation::none, {});
  const auto ifgo = gates.chunk(4, 1);
  const Tensor c = at::sigmoid(ifgo[1]) * state.cell + at::sigmoid(ifgo[0]) * at::tanh(ifgo[2]);
  return {(at::sigmoid(ifgo[3]) * at::tanh(c)).to(x_RI.scalar_type()), c};
}

LstmOutput lstm(const Tensor& x_MI, const Layout& layout, std::span<const LstmCell> directions) {
  const LstmOutput forwards = lstm_forwards(x_MI, layout, directions[0]);
  if (directions.size() == 1) return forwards;
  const Tensor reversed = reversed_rows(layout, x_MI);
  const LstmOutput backwards = lstm_forwards(x_MI.index_select(0, reversed), layout, directions[1]);
  return {at::cat({forwards.output, backwards.output.index_select(0, reversed)}, 1),
          {at::cat({forwards.last.hidden, backwards.last.hidden}, 1),
           at::cat({forwards.last.cell, backwards.last.cell}, 1)}};
}

DotAttention dot_attention(const Tensor& query_RH, const Tensor& keys_SH, const Tensor& values_SV, const Layout& memory,
                           std::span<const std::int64_t> sentences) {
  const Tensor rows = to_tensor(sentences, query_RH);
  return dot_attention(query_RH, pad(keys_SH, memory).index_select(0, rows),
                       pad(values_SV, memory).index_select(0, rows), pad_mask(memory, query_RH).index_select(0, rows));
}

Tensor attention_decoder(const AttentionDecoder& decoder, const AttentionDecoderInput& input) {
  const auto M = input.layout.num_tokens(), H = input.keys_SH.size(1), C = decoder.combine_HC.master().size(1);
  const auto num_layers = decoder.layers.size();
  const Tensor ones_M1 = at::ones({M, 1}, input.embedded_ME.options().requires_grad(false));
  const auto mask = [&](std::int64_t width, Dropout dropout) {  // [B, T, width]
    return pad(plain::dropout(ones_M1.expand({M, width}), dropout), input.layout);
  };
  const Tensor feed_mask = mask(H, decoder.feed_dropout), combine_mask = mask(C, decoder.combine_dropout);
  std::vector<Tensor> layer_masks;
  for (const Dropout& dropout : decoder.layer_dropouts) layer_masks.push_back(mask(H, dropout));

  const Tensor embedded_BTE = pad(input.embedded_ME, input.layout);
  const Tensor keys_BSH = pad(input.keys_SH, input.memory), values_BSV = pad(input.values_SV, input.memory);
  const Tensor pad_mask_BS = pad_mask(input.memory, input.keys_SH);
  std::vector<LstmState> states(input.start.begin(), input.start.end());
  Tensor attentional_BH = at::zeros({input.layout.size(), H}, input.embedded_ME.options().requires_grad(false));
  std::vector<Tensor> attentionals;
  for (std::int64_t t = 0; t < input.layout.max_length; ++t) {
    Tensor x = embedded_BTE.select(1, t);
    if (decoder.input_feeding) x = at::cat({x, attentional_BH * feed_mask.select(1, t)}, 1);
    for (std::size_t l = 0; l < num_layers; ++l) {
      states[l] = plain::lstm_step(x, states[l], decoder.layers[l]);
      x = states[l].hidden;
      if (l + 1 < num_layers) x = x * layer_masks[l].select(1, t);
    }
    const Tensor context = dot_attention(x, keys_BSH, values_BSV, pad_mask_BS).context_RV;
    attentional_BH = plain::linear(at::cat({context, x}, 1) * combine_mask.select(1, t), decoder.combine_HC, {},
                                   Activation::tanh, {});
    attentionals.push_back(attentional_BH);
  }
  if (attentionals.empty()) return at::zeros({0, H}, input.embedded_ME.options());
  return unpad(at::stack(attentionals, 1), input.layout);
}

}  // namespace attend::ops::plain
