// Speed of the recurrent fast paths, forward and backward, at width 256, with 256 sentences of 10 to 16 tokens: a
// bidirectional layer of each kind of cell against its plain formulation, and models against their unrolled step.
// Arguments: 0 fp32 or 1 bf16; 0 the plain or unrolled form or 1 the fast one. Items are tokens.
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

CellWeights random_cell(CellKind kind, Precision precision) {
  const std::int64_t gates = (kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1) * kWidth;
  CellWeights cell{.kind = kind,
                   .weight_ih = Weight(random({gates, kWidth})),
                   .weight_hh = Weight(random({gates, kWidth})),
                   .bias_ih = random({gates}),
                   .bias_hh = random({gates})};
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

void layer(benchmark::State& state, CellKind kind) {
  const auto type = state.range(0) == 1 ? at::kBFloat16 : at::kFloat;
  const Precision precision = state.range(0) == 1 ? Precision::bf16 : Precision::fp32;
  const Layout layout = some_layout();
  const std::vector<Direction> directions = {{random_cell(kind, precision), false},
                                             {random_cell(kind, precision), true}};
  const Tensor x = random({layout.num_tokens(), kWidth});
  forward_and_backward(state, layout, [&] { return recurrent_layer({x.to(type), layout}, directions).output_MC; });
}
#define ATTEND_MODES ->ArgsProduct({{0, 1}, {0, 1}})->Unit(benchmark::kMillisecond)->UseRealTime()
BENCHMARK_CAPTURE(layer, lstm, CellKind::lstm) ATTEND_MODES;
BENCHMARK_CAPTURE(layer, gru, CellKind::gru) ATTEND_MODES;
BENCHMARK_CAPTURE(layer, tanh, CellKind::tanh) ATTEND_MODES;

// A whole model: the decoder as one fused op (1) or unrolled (0).
template <class... Changes>
void model_of(benchmark::State& state, ModelKind kind, const Changes&... changes) {
  ModelConfig config;
  config.model = kind;
  config.width = kWidth;
  config.encoder_layers = config.decoder_layers = 1;
  config.dropout = 0.1;
  (changes(config), ...);
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

const auto kGru = [](ModelConfig& config) { config.cell = CellKind::gru; };
const auto kAdditive = [](ModelConfig& config) { config.score = ScoreKind::additive; };
const auto kLocalM = [](ModelConfig& config) { config.scope = ScopeKind::local_m, config.window = 5; };
const auto kLocalP = [](ModelConfig& config) { config.scope = ScopeKind::local_p, config.window = 5; };

BENCHMARK_CAPTURE(model_of, luong, ModelKind::luong) ATTEND_MODES;
BENCHMARK_CAPTURE(model_of, luong_gru, ModelKind::luong, kGru) ATTEND_MODES;
BENCHMARK_CAPTURE(model_of, luong_additive, ModelKind::luong, kAdditive) ATTEND_MODES;
BENCHMARK_CAPTURE(model_of, luong_local_m, ModelKind::luong, kLocalM) ATTEND_MODES;
BENCHMARK_CAPTURE(model_of, luong_local_p, ModelKind::luong, kLocalP) ATTEND_MODES;
BENCHMARK_CAPTURE(model_of, bahdanau, ModelKind::bahdanau) ATTEND_MODES;
BENCHMARK_CAPTURE(model_of, fixed, ModelKind::fixed) ATTEND_MODES;

}  // namespace
}  // namespace attend::ops
