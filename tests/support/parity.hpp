// Shared by the parity tests of whole models: a fixture's tensors, closeness, and AdamW written out.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/safetensors.hpp"
#include "data/batch/batch.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "tests/support/device.hpp"

namespace attend {

inline Sequences sequences(const torch::Tensor& ids_M, const torch::Tensor& length_B) {
  Sequences result{.ids_M = ids_M, .layout = {}};
  for (std::int64_t b = 0; b < length_B.size(0); ++b) result.layout.append(length_B[b].item<std::int64_t>());
  return result;
}

inline std::vector<std::int64_t> numbers(const torch::Tensor& tensor) {
  const torch::Tensor here = tensor.cpu().contiguous();
  return {here.const_data_ptr<std::int64_t>(), here.const_data_ptr<std::int64_t>() + here.numel()};
}

class Fixture {
 public:
  explicit Fixture(const std::string& name)
      : file_(std::filesystem::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures" / (name + ".safetensors")) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }

  torch::Tensor tensor(const std::string& name) const {
    const TensorView* found = file_.find(name);
    if (found == nullptr) throw std::out_of_range(name);
    const auto type = found->dtype == DType::i64 ? torch::kLong : torch::kFloat32;
    return torch::from_blob(const_cast<std::byte*>(found->bytes.data()), found->shape, type).clone().to(test_device());
  }

  Sequences sequences(const std::string& ids, const std::string& lengths) const {
    return attend::sequences(tensor(ids), tensor(lengths));
  }

 private:
  SafetensorsFile file_;
};

// Relative to the largest value, absolute if that is below 0.1: both sides round in fp32, in different orders.
inline void expect_close(const torch::Tensor& ours, const torch::Tensor& theirs, const std::string& name) {
  ASSERT_EQ(ours.sizes(), theirs.sizes()) << name;
  EXPECT_LE((ours - theirs).abs().max().item<double>(), 2e-5 * std::max(0.1, theirs.abs().max().item<double>()))
      << name;
}

// The gradients in the model's parameters.
inline void expect_gradients(const torch::nn::Module& model, const Fixture& fixture) {
  for (const auto& [name, parameter] : parameters_of(model)) {
    expect_close(parameter.grad(), fixture.tensor("gradient." + name), name);
  }
}

// Hidden states of a model whose products are in bf16. Each rounding to its 8 bits is off by up to 2^-9, which a few
// layers accumulate to a per cent. Values as near as those of fp32 were not computed in bf16.
inline void expect_close_in_bf16(const torch::Tensor& ours, const torch::Tensor& theirs) {
  ASSERT_EQ(ours.sizes(), theirs.sizes());
  const double error = (ours.to(torch::kFloat32) - theirs).norm().item<double>() / theirs.norm().item<double>();
  EXPECT_LE(error, 0.02);
  EXPECT_GE(error, 1e-5);
}
inline constexpr double kLossInBf16 = 0.01;  // relative, over ten updates

// The gradient of each parameter is within 6 per cent of its norm, or of a twentieth of the whole norm if it is
// smaller: the terms of the gradients of queries cancel while attention is still uniform.
inline void expect_gradients_in_bf16(const torch::nn::Module& model, const Fixture& fixture) {
  const NamedTensors parameters = parameters_of(model);
  double square = 0, square_error = 0;
  for (const auto& [name, parameter] : parameters) {
    square += fixture.tensor("gradient." + name).square().sum().item<double>();
  }
  for (const auto& [name, parameter] : parameters) {
    EXPECT_EQ(parameter.grad().scalar_type(), torch::kFloat32) << name;
    const torch::Tensor theirs = fixture.tensor("gradient." + name);
    const double error = (parameter.grad() - theirs).norm().item<double>();
    EXPECT_LE(error, 0.06 * std::max(theirs.norm().item<double>(), 0.05 * std::sqrt(square))) << name;
    square_error += error * error;
  }
  EXPECT_GE(std::sqrt(square_error / square), 1e-5);
}

// Updates by AdamW (arXiv 1711.05101) give the losses that PyTorch's gave. `backward` leaves gradients in the
// parameters and returns the loss.
inline void expect_losses_of_updates(const torch::nn::Module& model, const Fixture& fixture,
                                     const std::function<double()>& backward, double rate = 1e-3,
                                     double tolerance = 1e-5) {
  const torch::Tensor expected = fixture.tensor("losses");
  const std::vector<torch::Tensor> parameters = model.parameters();
  constexpr double kBeta1 = 0.9, kBeta2 = 0.98, kEps = 1e-9, kDecay = 0.01;
  std::vector<torch::Tensor> m, v;
  for (const auto& parameter : parameters) {
    m.push_back(torch::zeros_like(parameter));
    v.push_back(torch::zeros_like(parameter));
  }
  for (int step = 1; step <= expected.size(0); ++step) {
    const auto target = expected[step - 1].item<double>();
    EXPECT_NEAR(backward(), target, tolerance * target) << "step " << step;
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto& gradient = parameters[i].grad();
      m[i].mul_(kBeta1).add_(gradient, 1 - kBeta1);
      v[i].mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
      const auto root = (v[i] / (1 - std::pow(kBeta2, step))).sqrt_().add_(kEps);
      parameters[i].mul_(1 - rate * kDecay).addcdiv_(m[i], root, -rate / (1 - std::pow(kBeta1, step)));
    }
    refresh_weights(model);
  }
}

}  // namespace attend
