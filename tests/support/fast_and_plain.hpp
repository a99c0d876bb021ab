// Compares an op's fast path with its plain formulation: values and gradients.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/ops/dispatch.hpp"

namespace attend::ops {

using torch::Tensor;

// How far a fast path may be from the plain formulation, as a share of the largest value. fp32: sums in another order,
// and exp and erf to about 1e-7. bf16: 8 bits (2^-9 = 0.002 for each rounding), and two or three roundings of some
// results.
inline double tolerance(at::ScalarType type) { return type == at::kFloat ? 2e-5 : 0.012; }

inline void expect_close(const Tensor& fast, const Tensor& plain, at::ScalarType type, const std::string& what) {
  ASSERT_EQ(fast.defined(), plain.defined()) << what;
  if (!plain.defined()) return;
  ASSERT_EQ(fast.sizes(), plain.sizes()) << what;
  EXPECT_EQ(fast.scalar_type(), plain.scalar_type()) << what;
  if (plain.numel() == 0) return;
  const double largest = std::max(plain.to(at::kDouble).abs().max().item<double>(), 1e-3);
  const double difference = (fast.to(at::kDouble) - plain.to(at::kDouble)).abs().max().item<double>();
  EXPECT_LE(difference, tolerance(type) * largest) << what;
}

using Op = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Outputs of `op`, and the gradients of its inputs and parameters for random gradients of the outputs.
inline std::vector<Tensor> outputs_and_gradients(const Op& op, const std::vector<Tensor>& inputs,
                                                 const std::vector<Tensor>& parameters = {}) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) leaves.push_back(input.detach().clone().requires_grad_(input.is_floating_point()));
  std::vector<Tensor> result = op(leaves), roots, seeds;
  for (const Tensor& parameter : parameters) parameter.mutable_grad() = Tensor();
  std::uint64_t key = 1;
  for (const Tensor& output : result) {
    if (!output.requires_grad()) continue;
    at::manual_seed(key++);
    roots.push_back(output);
    seeds.push_back(at::randn(output.sizes()).to(output.scalar_type()));
  }
  torch::autograd::backward(roots, seeds);
  for (const Tensor& leaf : leaves) result.push_back(leaf.grad());
  for (const Tensor& parameter : parameters) result.push_back(parameter.grad());
  return result;
}

inline void expect_fast_equals_plain(const Op& op, const std::vector<Tensor>& inputs, at::ScalarType type,
                                     const std::string& what, const std::vector<Tensor>& parameters = {}) {
  const auto fast = outputs_and_gradients(op, inputs, parameters);
  const auto again = outputs_and_gradients(op, inputs, parameters);
  const auto plain = [&] {
    const PlainOps scope;
    return outputs_and_gradients(op, inputs, parameters);
  }();
  ASSERT_EQ(fast.size(), plain.size());
  for (std::size_t i = 0; i < fast.size(); ++i) {
    const std::string which = what + ", tensor " + std::to_string(i);
    expect_close(fast[i], plain[i], type, which);
    if (!fast[i].defined()) continue;
    EXPECT_TRUE(at::equal(fast[i], again[i])) << which << " differs when repeated";
  }
  // Without gradients, the ops compute the same values differently.
  const at::NoGradGuard no_grad;
  const auto inference = op(inputs);
  for (std::size_t i = 0; i < inference.size(); ++i) expect_close(inference[i], fast[i], type, what + ", no gradient");
}

}  // namespace attend::ops
