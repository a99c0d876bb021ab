// Speed of the recurrent fast paths, forward and backward, width 256, 256 sentences of 10 to 16 tokens: a bidirectional
// LSTM layer beside its plain formulation, and Luong's model beside its unrolled step. Arguments: 0 fp32 or 1 bf16; 0
// the plain or unrolled form or 1 the fast one. Items are tokens.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "models/layers/layers.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/recurrent.hpp"
#include "models/translation/factory.hpp"

namespace attend::ops {
namespace {

using torch::Tensor;

constexpr std::int64_t kWidth = 256;

Layout some_layout() {
  Layout layout;
  for (std::int64_t b = 0; b < 256; ++b) layout.append(10 + b * 5 % 7);
  return layout;
}

Tensor random(at::IntArrayRef sizes) { return (at::randn(sizes) * 0.05).requires_grad_(); }

CellWeights random_cell(std::int64_t input, Precision precision) {
  CellWeights cell{.weight_ih = Weight(random({4 * kWidth, input})),
                   .weight_hh = Weight(random({4 * kWidth, kWidth})),
                   .bias_ih = random({4 * kWidth}),
                   .bias_hh = random({4 * kWidth})};
  cell.weight_ih.set_precision(precision);
  cell.weight_hh.set_precision(precision);
  return cell;
}

// Times f and its backward pass.
template <class F>
void forward_and_backward(benchmark::State& state, const Layout& layout, const F& f) {
  const auto plain = state.range(1) == 0 ? std::make_unique<PlainOps>() : nullptr;
  for (auto _ : state) f().to(at::kFloat).sum().backward();
  state.SetItemsProcessed(state.iterations() * layout.num_tokens());
}

void lstm_layer(benchmark::State& state) {
  const auto type = state.range(0) == 1 ? at::kBFloat16 : at::kFloat;
  const Precision precision = state.range(0) == 1 ? Precision::bf16 : Precision::fp32;
  const Layout layout = some_layout();
  const std::vector<Direction> directions = {{random_cell(kWidth, precision), false},
                                             {random_cell(kWidth, precision), true}};
  const Tensor x = random({layout.num_tokens(), kWidth});
  forward_and_backward(state, layout, [&] { return recurrent_layer({x.to(type), layout}, directions).output_MC; });
}
BENCHMARK(lstm_layer)->ArgsProduct({{0, 1}, {0, 1}})->Unit(benchmark::kMillisecond)->UseRealTime();

// The whole model of Luong et al.: the decoder as one fused op (1) beside its unrolled step (0).
void luong(benchmark::State& state) {
  ModelConfig config;
  config.model = ModelKind::luong;
  config.width = kWidth;
  config.encoder_layers = config.decoder_layers = 1;
  config.dropout = 0.1;
  const Seq2Seq model = make_seq2seq(config, {.src = 8000, .tgt = 8000}, 1);
  visit_weights(*model,
                [&](Weight& weight) { weight.set_precision(state.range(0) == 1 ? Precision::bf16 : Precision::fp32); });
  const Layout layout = some_layout();
  const Sequences sentences{.ids_M = at::randint(4, 8000, {layout.num_tokens()}, at::kLong), .layout = layout};
  const Batch batch{.src = sentences, .tgt = sentences, .labels_M = {}, .examples = {}};
  const auto unrolled = state.range(1) == 0 ? std::make_unique<Unrolled>() : nullptr;
  for (auto _ : state) {
    Pass pass = Pass::train(1);
    model->forward(batch, pass).to(at::kFloat).sum().backward();
  }
  state.SetItemsProcessed(state.iterations() * layout.num_tokens());
}
BENCHMARK(luong)->ArgsProduct({{0, 1}, {0, 1}})->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace attend::ops
