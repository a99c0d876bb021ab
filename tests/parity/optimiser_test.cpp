// Every optimiser beside torch.optim with clip_grad_norm_ (make_fixtures_optimiser.py), and its defaults.
#include "train/optimiser.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/weights_io.hpp"
#include "models/ops/dispatch.hpp"
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

class OptimiserParity : public testing::TestWithParam<EnumName<OptimiserKind>> {};

TEST_P(OptimiserParity, TenUpdates) {
  const auto fixture = read_json(std::filesystem::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures/optimisers.json");
  const auto& [kind, name] = GetParam();
  const auto& theirs = fixture.at(std::string(name));
  const ops::PlainOps plain;
  Parameters model;
  const std::vector<torch::Tensor> parameters = model.parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p) parameters[p].data() = like(parameters[p], fixture["start"][p]);
  Optimiser optimiser(model, {.optimiser = kind, .weight_decay = 0.1, .clip_norm = 1.0});
  ASSERT_EQ(theirs["updates"].size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    const auto& gradients = fixture["gradients"][i];  // of the first ones; the last gets its first gradient late
    for (std::size_t p = 0; p < gradients.size(); ++p) parameters[p].mutable_grad() = like(parameters[p], gradients[p]);
    const double norm = optimiser.gradient_norm().item<double>();
    EXPECT_NEAR(norm, theirs["updates"][i]["norm"].get<double>(), 1e-5);
    optimiser.step(theirs["rate"].get<double>() * static_cast<double>(i + 1), norm);
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const torch::Tensor expected = like(parameters[p], theirs["updates"][i]["parameters"][p]);
      EXPECT_LE((parameters[p] - expected).abs().max().item<double>(), kTolerance) << i << " " << p;
      EXPECT_FALSE(parameters[p].grad().defined());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimiserParity, testing::ValuesIn(kEnumNames<OptimiserKind>),
                         [](const auto& test) { return std::string(test.param.second); });

TEST(Optimiser, WorkedExample) {
  const std::map<OptimiserKind, std::vector<float>> steps = {{OptimiserKind::adamw, {0.1F, 0.1F}},
                                                             {OptimiserKind::adadelta, {0.00044F, 0.00041F}},
                                                             {OptimiserKind::sgd, {0.003F, 0.001F}},
                                                             {OptimiserKind::muon, {0.0213F, 0.0321F}}};
  const ops::PlainOps plain;
  for (const auto& [kind, name] : kEnumNames<OptimiserKind>) {
    Linear layer(LinearConfig{.in = 2, .out = 2, .bias = false});
    const torch::Tensor& w = layer->weight.master();
    w.data().zero_();
    w.mutable_grad() = torch::diag(torch::tensor({0.03F, 0.01F}));
    Optimiser(*layer, {.optimiser = kind}).step(0.1, 0);
    EXPECT_TRUE(torch::allclose(-w, torch::diag(torch::tensor(steps.at(kind))), 0.01, 1e-5)) << name << w;
  }
}

// Three maps stacked in one parameter are updated as three parameters.
TEST(Optimiser, MuonUpdatesStackedMatricesOneByOne) {
  const ops::PlainOps plain;
  const auto updated = [](const std::vector<Linear>& maps) {
    torch::nn::Module model;
    for (std::size_t i = 0; i < maps.size(); ++i) model.register_module(std::to_string(i), maps[i]);
    Optimiser optimiser(model, {.optimiser = OptimiserKind::muon, .weight_decay = 0.1});
    torch::manual_seed(5);
    const auto parts = [](const char* of, const torch::Tensor& all, std::size_t count) {
      EXPECT_EQ(all.size(0) % static_cast<std::int64_t>(count), 0) << of;
      return all.chunk(static_cast<std::int64_t>(count));
    };
    const auto start = parts("start", torch::randn({12, 7}), maps.size());
    for (std::size_t i = 0; i < maps.size(); ++i) maps[i]->weight.master().data().copy_(start[i]);
    for (int step = 0; step < 3; ++step) {
      const auto gradients = parts("gradients", torch::randn({12, 7}), maps.size());
      for (std::size_t i = 0; i < maps.size(); ++i) maps[i]->weight.master().mutable_grad() = gradients[i].clone();
      optimiser.step(0.1, optimiser.gradient_norm().item<double>());
    }
    std::vector<torch::Tensor> weights;
    for (const Linear& map : maps) weights.push_back(map->weight.master().detach());
    return torch::cat(weights);
  };
  const auto map = [](std::int64_t out, std::int64_t fused) {
    return Linear(LinearConfig{.in = 7, .out = out, .bias = false, .fused = fused});
  };
  const torch::Tensor stacked = updated({map(12, 3)});
  EXPECT_TRUE(torch::allclose(stacked, updated({map(4, 1), map(4, 1), map(4, 1)}), 0, 1e-6));
  EXPECT_FALSE(torch::allclose(stacked, updated({map(12, 1)}), 0, 1e-2)) << "as one matrix";
}

// Matrices of one row or column, outputs, tables, norms and biases have AdamW's second moment.
TEST(Optimiser, MuonIsForHiddenMatrices) {
  StackOptions options{.layers = 1, .width = 12, .max_positions = 16};
  options.block.heads = 3;
  options.block.feed_forward = 48;
  const BertForPretraining model(options, /*vocabulary=*/20);
  std::vector<std::string> hidden;
  std::map<std::string, torch::Tensor> state;
  const Optimiser optimiser(*model, {.optimiser = OptimiserKind::muon});
  for (const auto& [name, tensor] : optimiser.state()) state[name] = tensor;
  for (const auto& [name, parameter] : parameters_of(*model)) {
    EXPECT_TRUE(state.contains("mean." + name)) << name;
    if (!state.contains("square." + name)) hidden.push_back(name);
  }
  EXPECT_EQ(hidden, (std::vector<std::string>{
                        "bert.encoder.layers.0.self_attn.in_proj.weight",
                        "bert.encoder.layers.0.self_attn.out_proj.weight", "bert.encoder.layers.0.linear1.weight",
                        "bert.encoder.layers.0.linear2.weight", "pooler.dense.weight", "predictions.dense.weight"}));
}

TEST(Optimiser, GradientNormSeesWhatIsNotFinite) {
  Parameters model;
  const Optimiser optimiser(model, {});
  EXPECT_EQ(optimiser.gradient_norm().item<double>(), 0);
  model.matrix.mutable_grad() = torch::ones({3, 5});
  EXPECT_NEAR(optimiser.gradient_norm().item<double>(), std::sqrt(15.0), 1e-6);
  model.bias.mutable_grad() = torch::full({5}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(optimiser.gradient_norm().item<double>()));
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
    Optimiser(*stack, {.optimiser = OptimiserKind::sgd, .weight_decay = 1}).step(0.5, 0);
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
