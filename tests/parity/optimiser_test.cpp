// Our AdamW beside torch.optim.AdamW with clip_grad_norm_ (make_fixtures_optimiser.py).
#include "train/optimiser.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <limits>

#include "core/json.hpp"

namespace attend {
namespace {

class TwoParameters : public torch::nn::Module {
 public:
  TwoParameters() {
    matrix = register_parameter("matrix", torch::zeros({3, 5}));
    bias = register_parameter("bias", torch::zeros({5}));
  }
  torch::Tensor matrix, bias;
};

torch::Tensor like(const torch::Tensor& tensor, const nlohmann::json& values) {
  return torch::tensor(values.get<std::vector<float>>()).view_as(tensor);
}

TEST(AdamWParity, TenUpdates) {
  const auto fixture = read_json(std::filesystem::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures/adamw.json");
  TwoParameters model;
  {
    const torch::NoGradGuard no_grad;
    model.matrix.copy_(like(model.matrix, fixture["start"][0]));
    model.bias.copy_(like(model.bias, fixture["start"][1]));
  }
  AdamW optimiser(model, {.weight_decay = 0.1, .clip_norm = 1.0});
  for (std::size_t i = 0; i < fixture["updates"].size(); ++i) {
    const auto& update = fixture["updates"][i];
    model.matrix.mutable_grad() = like(model.matrix, update["gradients"][0]);
    model.bias.mutable_grad() = like(model.bias, update["gradients"][1]);
    const double norm = optimiser.gradient_norm();
    EXPECT_NEAR(norm, update["norm"].get<double>(), 1e-5);
    optimiser.step(0.01 * static_cast<double>(i + 1), norm);
    // A few roundings of numbers below 4 in fp32.
    EXPECT_LE((model.matrix - like(model.matrix, update["parameters"][0])).abs().max().item<double>(), 2e-6) << i;
    EXPECT_LE((model.bias - like(model.bias, update["parameters"][1])).abs().max().item<double>(), 2e-6) << i;
    EXPECT_FALSE(model.matrix.grad().defined());
  }
}

TEST(AdamW, GradientNormSeesWhatIsNotFinite) {
  TwoParameters model;
  const AdamW optimiser(model, {});
  EXPECT_EQ(optimiser.gradient_norm(), 0);
  model.matrix.mutable_grad() = torch::ones({3, 5});
  EXPECT_NEAR(optimiser.gradient_norm(), std::sqrt(15.0), 1e-6);
  model.bias.mutable_grad() = torch::full({5}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(optimiser.gradient_norm()));
}

}  // namespace
}  // namespace attend
