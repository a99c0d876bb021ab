// Each optimiser beside torch.optim with clip_grad_norm_ (make_fixtures_optimiser.py), and its defaults.
#include "train/optimiser.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "core/json.hpp"
#include "models/layers/weights_io.hpp"
#include "models/transformer/block.hpp"

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

// The sums of a clipped gradient, its moments and ten steps round in fp32: a few ulps of numbers below 2.
constexpr double kTolerance = 1e-6;

class OptimiserParity : public testing::TestWithParam<OptimiserKind> {};

TEST_P(OptimiserParity, TenUpdates) {
  const auto fixture = read_json(std::filesystem::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures/optimisers.json");
  const auto& theirs = fixture.at(std::string(name_of(GetParam())));
  Parameters model;
  const std::vector<torch::Tensor> parameters = model.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p) parameters[p].data() = like(parameters[p], fixture["start"][p]);
  const auto optimiser = make_optimiser(model, {.optimiser = GetParam(), .weight_decay = 0.1, .clip_norm = 1.0});
  ASSERT_EQ(theirs["updates"].size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    const auto& gradients = fixture["gradients"][i];  // of the first ones; the last gets its first gradient late
    for (std::size_t p = 0; p < gradients.size(); ++p) parameters[p].mutable_grad() = like(parameters[p], gradients[p]);
    const double norm = optimiser->gradient_norm();
    EXPECT_NEAR(norm, theirs["updates"][i]["norm"].get<double>(), 1e-5);
    optimiser->step(theirs["rate"].get<double>() * static_cast<double>(i + 1), norm);
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const torch::Tensor expected = like(parameters[p], theirs["updates"][i]["parameters"][p]);
      EXPECT_LE((parameters[p] - expected).abs().max().item<double>(), kTolerance) << i << " " << p;
      EXPECT_FALSE(parameters[p].grad().defined());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimiserParity,
                         testing::Values(OptimiserKind::adamw, OptimiserKind::adam, OptimiserKind::adadelta,
                                         OptimiserKind::sgd),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(Optimiser, GradientNormSeesWhatIsNotFinite) {
  Parameters model;
  const auto optimiser = make_optimiser(model, {});
  EXPECT_EQ(optimiser->gradient_norm(), 0);
  model.matrix.mutable_grad() = torch::ones({3, 5});
  EXPECT_NEAR(optimiser->gradient_norm(), std::sqrt(15.0), 1e-6);
  model.bias.mutable_grad() = torch::full({5}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(optimiser->gradient_norm()));
}

// Without a gradient to follow, one step of sgd with weight decay 1 and rate 0.5 halves what decays.
TEST(Optimiser, DecaysMatricesAndTablesButNotBiasesOfSeveralAxes) {
  for (const PositionKind positions : {PositionKind::t5, PositionKind::transformer_xl, PositionKind::relative}) {
    Stack stack(
        StackOptions{.layers = 1, .width = 12, .block = {.heads = 3, .feed_forward = 48, .positions = positions}},
        StackForm());
    std::map<std::string, torch::Tensor> before;
    for (const auto& [name, parameter] : parameters_of(*stack)) {
      parameter.data().fill_(1);
      parameter.mutable_grad() = torch::zeros_like(parameter);
      before[name] = parameter;
    }
    make_optimiser(*stack, {.optimiser = OptimiserKind::sgd, .weight_decay = 1})->step(0.5, 0);
    for (const auto& [name, parameter] : before) {
      const bool stays = name.ends_with("bias") || name.find("norm") != name.npos || name.ends_with("scope.table");
      EXPECT_TRUE(torch::equal(parameter, torch::full_like(parameter, stays ? 1 : 0.5))) << name;
    }
  }
}

TEST(Optimiser, WhatItsPaperSaysIsResolvedAndTheRestLeft) {
  const auto resolved = [](OptimiserKind kind, OptimiserConfig config = {}) {
    config.optimiser = kind;
    ScheduleConfig schedule;
    resolve_optimiser(config, schedule);
    return std::pair(config, schedule);
  };
  const auto [adamw, of_adamw] = resolved(OptimiserKind::adamw);
  EXPECT_EQ(adamw.epsilon, 1e-8);
  EXPECT_EQ(of_adamw.schedule, ScheduleKind::inverse_sqrt);
  EXPECT_FALSE(of_adamw.learning_rate || of_adamw.warmup_steps);
  const auto [adadelta, of_adadelta] = resolved(OptimiserKind::adadelta);
  EXPECT_EQ(adadelta.epsilon, 1e-6);
  EXPECT_EQ(of_adadelta.schedule, ScheduleKind::constant);
  EXPECT_EQ(of_adadelta.learning_rate, 1.0);
  EXPECT_EQ(of_adadelta.warmup_steps, 0);
  const auto [sgd, of_sgd] = resolved(OptimiserKind::sgd);
  EXPECT_FALSE(sgd.epsilon);
  EXPECT_EQ(of_sgd.schedule, ScheduleKind::halving);
  EXPECT_EQ(of_sgd.learning_rate, 1.0);
  EXPECT_EQ(resolved(OptimiserKind::adadelta, {.epsilon = 1e-4}).first.epsilon, 1e-4);
}

}  // namespace
}  // namespace attend
