#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "models/ops/dispatch.hpp"
#include "models/ops/ops.hpp"
#include "tests/support/heads.hpp"

namespace attend::ops {
namespace {

double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kFloat) - b.to(torch::kFloat)).abs().max().item<double>();
}

// bf16 keeps 8 bits: sums of a few unit-sized numbers, rounded once at the end by either path, differ by 1 in 2^7.
double decode_tolerance(at::ScalarType type) { return type == at::kFloat ? 1e-5 : 3e-2; }

TEST(DecodeOps, SelfAttentionFollowsTheAncestry) {
  const at::NoGradGuard no_grad;
  torch::manual_seed(1);
  const std::vector<std::int64_t> rows = {2, 3, 5};
  const Ancestry ancestry = {{0, 1, 1, 0, 1}, {2, 0, 1, 1, 0}, {0, 1, 2, 3, 4}};
  for (const std::int64_t heads : {1, 3}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      std::vector<torch::Tensor> products, kv;  // q | k | v, k | v
      for (const auto count : rows) {
        products.push_back(torch::randn({count, 3 * 21}).to(type));
        kv.push_back(products.back().narrow(1, 21, 2 * 21).contiguous());
      }
      const auto q = products.back().narrow(1, 0, 21);
      const auto attended = [&] {
        Pass pass = Pass::inference();
        return heads_of(21, {.heads = heads, .causal = true}).to_steps(q, kv, ancestry, 0, pass);
      };
      const auto fast = attended();
      EXPECT_EQ(fast.scalar_type(), type);
      const PlainOps plain;
      EXPECT_LE(largest_difference(fast, attended()), decode_tolerance(type));

      // And as causal attention over the history written out.
      for (std::int64_t r = 0; r < 5; ++r) {
        std::vector<torch::Tensor> history;
        for (std::size_t t = 0; t < products.size(); ++t) history.push_back(products[t][ancestry[t][r]]);
        const auto q_k_v = torch::stack(history).chunk(3, 1);
        const Layout layout{.offsets = {0, 3}, .max_length = 3};
        const auto whole =
            attend_heads({q_k_v[0], q_k_v[1], q_k_v[2]}, layout, layout, {.heads = heads, .causal = true});
        EXPECT_LE(largest_difference(fast[r], whole[2]), decode_tolerance(type));
      }
    }
  }
}

TEST(DecodeOps, CrossAttentionReadsItsSentence) {
  const at::NoGradGuard no_grad;
  torch::manual_seed(2);
  const Layout memory{.offsets = {0, 3, 3, 10, 11}, .max_length = 7};  // the second sentence is empty
  const std::vector<std::int64_t> sentences = {2, 0, 2, 1, 3, 0};
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto q = torch::randn({6, 37 * 2}).to(type);
    const auto kv = torch::randn({11, 2 * 37 * 2}).to(type);
    const auto attended = [&] {
      Pass pass = Pass::inference();
      return heads_of(37 * 2, {.heads = 2}).to_memory(q, kv, memory, sentences, 0, 0, pass);
    };
    const auto fast = attended();
    EXPECT_EQ(fast.scalar_type(), type);
    EXPECT_EQ(fast[3].abs().sum().item<float>(), 0);
    const PlainOps plain;
    EXPECT_LE(largest_difference(fast, attended()), decode_tolerance(type));
  }
}

TEST(DecodeOps, TheWorkedExampleOfTheScaledSoftmax) {
  // Scores [112 96; 88 120] with keys of 64 numbers: weights [0.88 0.12; 0.02 0.98].
  const at::NoGradGuard no_grad;
  auto q = torch::zeros({2, 64}), kv = torch::zeros({2, 128});
  q[0][0] = q[1][1] = 1;
  kv[0][0] = 112, kv[1][0] = 96, kv[0][1] = 88, kv[1][1] = 120;
  kv[0][64] = kv[1][65] = 1;  // values that show the weights
  const Layout memory{.offsets = {0, 2}, .max_length = 2};
  Pass pass = Pass::inference();
  const auto context = heads_of(64, {}).to_memory(q, kv, memory, std::vector<std::int64_t>{0, 0}, 0, 0, pass);
  const auto expected = torch::tensor({{0.88F, 0.12F}, {0.02F, 0.98F}});
  EXPECT_LE(largest_difference(context.narrow(1, 0, 2), expected), 0.005);
  const auto weights = weights_of_heads(q, kv.narrow(1, 0, 64), memory, memory, {});
  EXPECT_LE(largest_difference(weights[0][0], expected), 0.005);
}

TEST(DecodeOps, TopLogProbsAreTheBestOfTheLogSoftmax) {
  torch::manual_seed(3);
  for (const std::int64_t vocabulary : {1, 7, 64, 65, 1000}) {
    for (const std::int64_t k : {1, 5, 13}) {
      auto logits = torch::randn({4, vocabulary}) * 5;
      logits[1] = logits[1].round();  // ties
      logits[2].narrow(0, 0, (vocabulary + 1) / 2).fill_(-std::numeric_limits<float>::infinity());
      logits[3][vocabulary / 2] = std::numeric_limits<float>::quiet_NaN();
      const auto fast = top_log_probs(logits, k);
      EXPECT_EQ(fast.k, std::min(k, vocabulary));
      const PlainOps plain;
      const auto expected = top_log_probs(logits, k);
      ASSERT_EQ(fast.values.size(), expected.values.size());
      for (std::size_t i = 0; i < fast.values.size(); ++i) {
        if (std::isinf(expected.values[i])) {
          EXPECT_EQ(fast.values[i], expected.values[i]);
        } else {
          EXPECT_NEAR(fast.values[i], expected.values[i], 2e-5);
          EXPECT_EQ(fast.ids[i], expected.ids[i]);
        }
      }
      for (std::int64_t j = 0; j < fast.k; ++j) EXPECT_TRUE(std::isinf(fast.values[3 * fast.k + j]));
    }
  }
}

}  // namespace
}  // namespace attend::ops
