// Speed of the recurrent ops' fast paths and plain formulations: a bidirectional LSTM layer, and the decoder with input
// feeding and attention, forward and backward, width 256, 256 sentences of 10 to 16 tokens. Arguments: 0 fp32 or 1
// bf16; 0 plain or 1 fast. Items are tokens.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "models/ops/dispatch.hpp"
#include "models/ops/recurrent.hpp"

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

LstmCell random_cell(std::int64_t input, Precision precision) {
  LstmCell cell{.weight_ih = Weight(random({4 * kWidth, input})),
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
  const std::vector<LstmCell> cells = {random_cell(kWidth, precision), random_cell(kWidth, precision)};
  const Tensor x = random({layout.num_tokens(), kWidth});
  forward_and_backward(state, layout, [&] { return lstm(x.to(type), layout, cells).output; });
}
BENCHMARK(lstm_layer)->ArgsProduct({{0, 1}, {0, 1}})->Unit(benchmark::kMillisecond)->UseRealTime();

void luong_decoder(benchmark::State& state) {
  const auto type = state.range(0) == 1 ? at::kBFloat16 : at::kFloat;
  const Precision precision = state.range(0) == 1 ? Precision::bf16 : Precision::fp32;
  const Layout layout = some_layout();
  const std::vector<LstmCell> cells = {random_cell(2 * kWidth, precision)};
  Weight combine(random({kWidth, 3 * kWidth}));
  combine.set_precision(precision);
  const AttentionDecoder decoder{.layers = cells,
                                 .combine_HC = combine,
                                 .feed_dropout = {.rate = 0.1, .key = 1},
                                 .layer_dropouts = {},
                                 .combine_dropout = {.rate = 0.1, .key = 2}};
  const Tensor embedded = random({layout.num_tokens(), kWidth}), keys = random({layout.num_tokens(), kWidth}),
               values = random({layout.num_tokens(), 2 * kWidth}), start = random({layout.size(), kWidth});
  forward_and_backward(state, layout, [&] {
    const std::vector<LstmState> states = {{start.to(type), start}};
    return attention_decoder(decoder, {.embedded_ME = embedded.to(type),
                                       .layout = layout,
                                       .keys_SH = keys.to(type),
                                       .values_SV = values.to(type),
                                       .memory = layout,
                                       .start = states});
  });
}
BENCHMARK(luong_decoder)->ArgsProduct({{0, 1}, {0, 1}})->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace attend::ops
