// Speed of the ops' fast paths and plain formulations, forward and backward, at the shapes of a training step: 4,096
// tokens in sentences of 16 (or 128), width 256 with an inner width of 1,024, or 768 with 3,072, and a vocabulary of
// 8,000. Arguments: 0 fp32 or 1 bf16; 0 plain or 1 fast; then the width, and for attention the length. Items are
// tokens. And attention within one sentence of 4,096 tokens, by its score; and the matrices of an update by muon.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <memory>

#include "models/layers/layers.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/ops.hpp"
#include "tests/support/heads.hpp"

namespace attend::ops {
namespace {

using torch::Tensor;

constexpr std::int64_t kTokens = 4096, kVocabulary = 8000;
constexpr Dropout kDropout{.rate = 0.1, .key = 7};

at::ScalarType type_of(const benchmark::State& state) { return state.range(0) == 1 ? at::kBFloat16 : at::kFloat; }

Tensor activations(const benchmark::State& state, std::int64_t width) {
  return at::randn({kTokens, width}).to(type_of(state)).requires_grad_();
}

Tensor parameter(at::IntArrayRef sizes) { return (at::randn(sizes) * 0.05).requires_grad_(); }

Weight weight(const benchmark::State& state, std::int64_t out, std::int64_t in) {
  Weight result(parameter({out, in}));
  result.set_precision(state.range(0) == 1 ? Precision::bf16 : Precision::fp32);
  return result;
}

Layout sentences_of(std::int64_t length) {
  Layout layout;
  while (layout.num_tokens() < kTokens) layout.append(length);
  return layout;
}

// Times f and its backward pass, with a random gradient of its result.
template <class F>
void forward_and_backward(benchmark::State& state, const F& f) {
  const auto plain = state.range(1) == 0 ? std::make_unique<PlainOps>() : nullptr;
  const Tensor gradient = at::randn_like(f());
  for (auto _ : state) f().backward(gradient);
  state.SetItemsProcessed(state.iterations() * kTokens);
}

void feed_forward(benchmark::State& state) {
  const std::int64_t width = state.range(2);
  const Tensor x = activations(state, width), inner_bias = parameter({4 * width}), bias = parameter({width});
  const Weight inner = weight(state, 4 * width, width), outer = weight(state, width, 4 * width);
  forward_and_backward(state, [&] { return linear(linear(x, inner, inner_bias, Activation::relu), outer, bias); });
}

void norm(benchmark::State& state) {
  const std::int64_t width = state.range(2);
  const Tensor x = activations(state, width), residual = activations(state, width);
  const Tensor gamma = parameter({width}), beta = parameter({width});
  forward_and_backward(state, [&] { return add_layer_norm(x, residual, gamma, beta, 1e-5, kDropout).norm; });
}

void heads(benchmark::State& state) {
  const std::int64_t width = state.range(2);
  const Layout layout = sentences_of(state.range(3));
  const Tensor qkv = activations(state, 3 * width);
  forward_and_backward(state,
                       [&] { return attend_heads({qkv}, layout, layout, {.heads = width / 64, .dropout = kDropout}); });
}

// One sentence of all tokens, in an encoder; the argument is the score.
void long_sentence(benchmark::State& state, ScoreKind score) {
  const Heads heads({.width = 256, .heads = 4, .score = score});
  torch::nn::Module model;
  heads.register_in(model);
  initialise(model, 1);
  const Layout layout = sentences_of(kTokens);
  const Tensor qkv = at::randn({kTokens, 3 * 256}).requires_grad_(), gradient = at::randn({kTokens, 256});
  for (auto _ : state) {
    Pass pass = Pass::train(1);
    heads.within({qkv}, layout, {}, layout, 0, pass).backward(gradient);
  }
  state.SetItemsProcessed(state.iterations() * kTokens);
}

void embedding(benchmark::State& state) {
  const Layout layout = sentences_of(16);
  const Tensor ids = at::randint(0, kVocabulary, {kTokens}, at::kLong), positions = at::randn({16, state.range(2)});
  const Weight table = weight(state, kVocabulary, state.range(2));
  forward_and_backward(state, [&] { return embed({ids, layout}, table, 16, positions, kDropout); });
}

void loss(benchmark::State& state) {
  const Tensor hidden = activations(state, state.range(2)), labels = at::randint(0, kVocabulary, {kTokens}, at::kLong);
  const Weight table = weight(state, kVocabulary, state.range(2));
  forward_and_backward(state, [&] { return cross_entropy(hidden, table, {}, labels, 0.1).loss; });
}

// What muon computes in an update of the hidden matrices of four layers of BERT, fp32: four square ones each, and two
// of an inner width of 4 x width. Items are updates.
void orthogonal(benchmark::State& state) {
  const std::int64_t width = state.range(2);
  const auto plain = state.range(1) == 0 ? std::make_unique<PlainOps>() : nullptr;
  const Tensor square = at::randn({16, width, width}), wide = at::randn({8, width, 4 * width});
  for (auto _ : state) {
    benchmark::DoNotOptimize(orthogonal_factors(square));
    benchmark::DoNotOptimize(orthogonal_factors(wide));
  }
  state.SetItemsProcessed(state.iterations());
}

#define ATTEND_BENCHMARK(name) \
  BENCHMARK(name)->ArgsProduct({{0, 1}, {0, 1}, {256, 768}})->Unit(benchmark::kMillisecond)->UseRealTime()
ATTEND_BENCHMARK(feed_forward);
ATTEND_BENCHMARK(norm);
ATTEND_BENCHMARK(embedding);
ATTEND_BENCHMARK(loss);
BENCHMARK_CAPTURE(long_sentence, scaled_dot, ScoreKind::scaled_dot)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(long_sentence, elu1, ScoreKind::elu1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(orthogonal)->ArgsProduct({{0}, {0, 1}, {256, 768}})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(heads)->ArgsProduct({{0, 1}, {0, 1}, {256, 768}, {16, 128}})->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace attend::ops
