// The ops against their equations and against each other.
#include "models/ops/ops.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace attend::ops {
namespace {

using torch::Tensor;

Layout layout_of(const std::vector<std::int64_t>& lengths) {
  Layout layout;
  for (const auto length : lengths) {
    layout.offsets.push_back(layout.offsets.back() + length);
    layout.max_length = std::max(layout.max_length, length);
  }
  return layout;
}

TEST(Attention, WorkedExample) {
  // Scores q·k of [112 96; 88 120] with key size 64 are [14 12; 11 15] after scaling: the exercise every course sets.
  const Tensor k = at::zeros({2, 64}), q = at::zeros({2, 64});
  k[0][0] = 1;
  k[1][1] = 1;
  q[0][0] = 112, q[0][1] = 96, q[1][0] = 88, q[1][1] = 120;
  const Layout layout = layout_of({2});
  const Tensor weights = attention_weights(q, k, layout, layout, {.heads = 1, .causal = false})[0][0];
  EXPECT_NEAR(weights[0][0].item<double>(), 0.88, 0.005);
  EXPECT_NEAR(weights[0][1].item<double>(), 0.12, 0.005);
  EXPECT_NEAR(weights[1][0].item<double>(), 0.02, 0.005);
  EXPECT_NEAR(weights[1][1].item<double>(), 0.98, 0.005);
}

TEST(Attention, EmptySentencesAndKeys) {
  const Layout queries = layout_of({2, 0, 3}), keys = layout_of({4, 1, 0});
  const Tensor q = at::randn({5, 6}), k = at::randn({5, 6}), v = at::randn({5, 6});
  const Tensor context = attention(q, k, v, queries, keys, {.heads = 3, .causal = false});
  EXPECT_TRUE(context.isfinite().all().item<bool>());
  EXPECT_EQ(context.slice(0, 2).abs().sum().item<double>(), 0);
}

TEST(Pad, ThereAndBack) {
  const Layout layout = layout_of({3, 0, 5, 1});
  const Tensor x = at::randn({9, 7});
  const Tensor padded = pad(x, layout);
  EXPECT_EQ(padded.sizes(), at::IntArrayRef({4, 5, 7}));
  EXPECT_TRUE(at::equal(unpad(padded, layout), x));
  EXPECT_EQ(padded[0].slice(0, 3).abs().sum().item<double>(), 0);
}

TEST(Dropout, KeepsTheShareItSays) {
  const Tensor x = at::ones({1000, 37});
  const Tensor y = dropout(x, {.rate = 0.3, .key = 5});
  // 37,000 draws: the share dropped has a standard deviation of 0.0024.
  EXPECT_NEAR(y.eq(0).to(at::kDouble).mean().item<double>(), 0.3, 0.01);
  EXPECT_NEAR(y.max().item<double>(), 1 / 0.7, 1e-6);
  EXPECT_TRUE(at::equal(y, dropout(x, {.rate = 0.3, .key = 5})));
  EXPECT_FALSE(at::equal(y, dropout(x, {.rate = 0.3, .key = 6})));
}

}  // namespace
}  // namespace attend::ops
