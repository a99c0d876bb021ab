// Our AdamW beside torch.optim.AdamW with clip_grad_norm_ (make_fixtures_optimiser.py).
#include "train/optimiser.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <limits>

#include "core/json.hpp"

namespace attend {
namespace {

class Parameters : public torch::nn::Module {
 public:
  Parameters() {
    matrix = register_parameter("matrix", torch::zeros({3, 5}));
    bias = register_parameter("bias", torch::zeros({5}));
    late = register_parameter("late", torch::zeros({4}));
  }
  torch::Tensor matrix, bias, late;
};

torch::Tensor like(const torch::Tensor& tensor, const nlohmann::json& values) {
  return torch::tensor(values.get<std::vector<float>>()).view_as(tensor);
}

TEST(AdamWParity, TenUpdates) {
  const auto fixture = read_json(std::filesystem::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures/adamw.json");
  Parameters model;
  const std::vector<torch::Tensor> parameters = model.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p) parameters[p].data() = like(parameters[p], fixture["start"][p]);
  AdamW optimiser(model, {.weight_decay = 0.1, .clip_norm = 1.0});
  for (std::size_t i = 0; i < fixture["updates"].size(); ++i) {
    const auto& update = fixture["updates"][i];
    const auto& gradients = update["gradients"];  // of the first ones; the last gets its first gradient late
    for (std::size_t p = 0; p < gradients.size(); ++p) parameters[p].mutable_grad() = like(parameters[p], gradients[p]);
    const double norm = optimiser.gradient_norm();
    EXPECT_NEAR(norm, update["norm"].get<double>(), 1e-5);
    optimiser.step(0.01 * static_cast<double>(i + 1), norm);
    // A few roundings of numbers below 4 in fp32.
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const torch::Tensor expected = like(parameters[p], update["parameters"][p]);
      EXPECT_LE((parameters[p] - expected).abs().max().item<double>(), 2e-6) << i << " " << p;
      EXPECT_FALSE(parameters[p].grad().defined());
    }
  }
}

TEST(AdamW, GradientNormSeesWhatIsNotFinite) {
  Parameters model;
  const AdamW optimiser(model, {});
  EXPECT_EQ(optimiser.gradient_norm(), 0);
  model.matrix.mutable_grad() = torch::ones({3, 5});
  EXPECT_NEAR(optimiser.gradient_norm(), std::sqrt(15.0), 1e-6);
  model.bias.mutable_grad() = torch::full({5}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(optimiser.gradient_norm()));
}

}  // namespace
}  // namespace attend
