// The divergence of R-Drop against its definition, and its fast path against the plain formulation.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

#include "models/ops/dispatch.hpp"
#include "models/ops/ops.hpp"
#include "tests/support/fast_and_plain.hpp"

namespace attend::ops {
namespace {

using torch::Tensor;

Op divergence_in(Precision precision) {
  return [=](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    Weight table(in[2]);
    table.set_precision(precision);
    return {symmetric_divergence(in[0], in[1], table, in.size() > 3 ? in[3] : Tensor())};
  };
}

std::vector<Tensor> divergence_by_kl_div(const std::vector<Tensor>& in) {
  const auto log_of = [&](const Tensor& x) { return at::log_softmax(at::linear(x, in[2], in[3]), 1); };
  const Tensor log_p = log_of(in[0]), log_q = log_of(in[1]);
  const auto kl = [](const Tensor& log_a, const Tensor& log_b) {
    return at::kl_div(log_b, log_a, at::Reduction::Sum, /*log_target=*/true);
  };
  return {(kl(log_p, log_q) + kl(log_q, log_p)) / 2};
}

TEST(DivergenceOps, IsHalfTheSumOfBothDirections) {
  at::manual_seed(5);
  const std::vector<Tensor> in = {at::randn({13, 7}), at::randn({13, 7}), at::randn({37, 7}), at::randn(37)};
  std::vector<Tensor> exact;
  for (const Tensor& tensor : in) exact.push_back(tensor.to(at::kDouble));
  const std::vector<Tensor> expected = outputs_and_gradients(divergence_by_kl_div, exact);
  ASSERT_GT(expected[0].item<double>(), 1);
  const auto check = [&](const char* path) {
    const std::vector<Tensor> found = outputs_and_gradients(divergence_in(Precision::fp32), in);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) expect_close(found[i], expected[i].to(at::kFloat), at::kFloat, path);
  };
  check("fast");
  const PlainOps scope;
  check("plain");
}

TEST(DivergenceOps, FastEqualsPlain) {
  at::manual_seed(5);
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const at::ScalarType type = precision == Precision::fp32 ? at::kFloat : at::kBFloat16;
    const std::vector<Tensor> in = {at::randn({131, 7}).to(type), at::randn({131, 7}).to(type), at::randn({37, 7}),
                                    at::randn(37)};
    expect_fast_equals_plain(divergence_in(precision), in, type, "divergence");
  }
  // 300 rows of 17,000 logits are three blocks.
  const std::vector<Tensor> large = {0.1 * at::randn({300, 8}), 0.1 * at::randn({300, 8}), at::randn({17000, 8})};
  expect_fast_equals_plain(divergence_in(Precision::fp32), large, at::kFloat, "blocks");
}

TEST(DivergenceOps, OfEqualDistributionsIsZero) {
  at::manual_seed(5);
  const Tensor hidden = at::randn({13, 7});
  const std::vector<Tensor> found =
      outputs_and_gradients(divergence_in(Precision::fp32), {hidden, hidden, at::randn({37, 7})});
  for (const Tensor& tensor : found) EXPECT_LE(tensor.abs().max().item<double>(), 1e-6);
}

}  // namespace
}  // namespace attend::ops
