// Gates of heads: their distribution by closed forms, their effect in a model, and the penalty beside its loss.
#include "models/attention/edits.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "eval/attention.hpp"
#include "tests/support/families.hpp"
#include "tests/support/model_properties.hpp"
#include "tests/support/sentences.hpp"
#include "train/translation/objective.hpp"

namespace attend {
namespace {

using torch::Tensor;

LearntGates gates_with(const std::vector<double>& log_alpha) {
  LearntGates gates(AttentionPlace::encoder, std::ssize(log_alpha));
  const at::NoGradGuard no_grad;
  gates.parameters()[0].copy_(at::tensor(log_alpha));
  return gates;
}

void expect_gates(const Tensor& found_N, const std::vector<double>& expected) {
  EXPECT_TRUE(at::allclose(found_N.to(at::kDouble), at::tensor(expected), 1e-5, 1e-6)) << found_N;
}

TEST(LearntGates, HaveTheNumbersOfTheEquations) {
  const LearntGates gates = gates_with({-3, -2, 0, 1, 3});
  // 1.2 / (1 + e^-log α) - 0.1
  expect_gates(gates.values_N(), {0, 0.04304351, 0.5, 0.77727029, 1});
  // 1 / (1 + e^-(log α + 0.33 ln 11))
  expect_gates(gates.open_probabilities_N(), {0.0989724, 0.2299321, 0.6881116, 0.8570873, 0.9779319});
}

// P(g = 0), and P(g = 1) = σ(log α - 0.33 ln 11).
TEST(LearntGates, AreSampledFromTheirDistribution) {
  const at::NoGradGuard no_grad;
  constexpr int kSamples = 20'000;
  const LearntGates gates = gates_with({-2, 0, 1});
  Tensor zeros = at::zeros({3}), ones = at::zeros({3});
  RandomStream random(5);
  for (int i = 0; i < kSamples; ++i) {
    const Tensor sample_N = gates.sample_N(random);
    EXPECT_TRUE(sample_N.ge(0).logical_and(sample_N.le(1)).all().item<bool>());
    zeros += sample_N.eq(0);
    ones += sample_N.eq(1);
  }
  const double four_deviations = 4 * 0.5 / std::sqrt(kSamples);
  const auto expect_shares = [&](const Tensor& counts, const Tensor& expected) {
    EXPECT_LE((counts / kSamples - expected).abs().max().item<double>(), four_deviations) << counts << expected;
  };
  expect_shares(zeros, 1 - gates.open_probabilities_N());
  expect_shares(ones, at::sigmoid(gates.parameters()[0] - 0.33 * std::log(11)));
}

// dg / d log α = 1.2 s (1 - s) / 0.33 between the ends, and 0 at them.
TEST(LearntGates, SamplesBetweenTheEndsHaveGradients) {
  const LearntGates gates = gates_with({0.1, -9});
  RandomStream random(1);
  for (int i = 0; i < 200; ++i) {
    const Tensor sample_N = gates.sample_N(random);
    const double g = sample_N[0].item<double>();
    if (g == 0 || g == 1) continue;
    gates.parameters()[0].mutable_grad() = Tensor();
    sample_N.sum().backward();
    const double s = (g + 0.1) / 1.2;
    expect_gates(gates.parameters()[0].grad(), {1.2 * s * (1 - s) / 0.33, 0});
    return;
  }
  FAIL() << "every sample is at an end";
}

ModelConfig gated_config(double dropout = 0) {
  ModelConfig config = families(dropout)[0].config;
  config.prune_heads = 0.1;
  return config;
}

// A log α of each head, from -2.8 to 1.8 with 24 heads; the lowest three are closed.
void set_gates(const Seq2SeqImpl& model) {
  const at::NoGradGuard no_grad;
  double log_alpha = -3;
  for (const auto& named : model.named_parameters()) {
    if (!is_of_gates(named.key())) continue;
    for (std::int64_t head = 0; head < named.value().size(0); ++head) named.value()[head].fill_(log_alpha += 0.2);
  }
}

TEST(LearntGates, StandAtEveryLayerAndBeginOpen) {
  const Seq2Seq model = with_weights_of_seed_7(gated_config());
  std::vector<std::int64_t> layers[3];
  for (const auto& [place, layer, gates] : gates_of(*model)) {
    layers[static_cast<int>(place)].push_back(layer);
    expect_gates(gates->values_N().cpu(), {1, 1, 1});
  }
  EXPECT_EQ(layers[static_cast<int>(AttentionPlace::encoder)], (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(layers[static_cast<int>(AttentionPlace::decoder)], (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(layers[static_cast<int>(AttentionPlace::cross)], (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(gates_of(*with_weights_of_seed_7(families(0)[0].config)).empty());
}

// In every use of a model, with fused and plain ops; the weights that are shown are those before.
TEST(LearntGates, ScaleTheColumnsOfTheOutputMap) {
  const at::NoGradGuard no_grad;
  const Seq2Seq gated = with_weights_of_seed_7(gated_config());
  set_gates(*gated);
  expect_steps_are_forward(*gated);
  expect_a_batch_is_its_sentences(*gated);
  expect_plain_ops_give_the_same_steps(*gated);
  ModelConfig plain_config = gated_config();
  plain_config.prune_heads.reset();
  const Seq2Seq plain = with_weights_of_seed_7(plain_config);
  for (const auto& named : plain->named_parameters()) named.value().copy_(gated->named_parameters()[named.key()]);
  const auto hidden_of = [](const Seq2SeqImpl& model, Observer* observer = nullptr) {
    Pass pass = Pass::inference(observer);
    return model.forward(some_batch(), pass);
  };
  AttentionRecorder of_gated(AttentionPlace::encoder), of_plain(AttentionPlace::encoder);
  EXPECT_GT((hidden_of(*gated, &of_gated) - hidden_of(*plain, &of_plain)).abs().max().item<double>(), 1e-3);
  expect_close(of_gated.layers[0].weights, of_plain.layers[0].weights);
  for (const auto& [place, layer, gates] : gates_of(*gated)) {
    const std::string stack = place == AttentionPlace::encoder ? "encoder" : "decoder";
    const std::string attention = place == AttentionPlace::cross ? "multihead_attn" : "self_attn";
    const Tensor output =
        plain->named_parameters()[stack + ".layers." + std::to_string(layer) + "." + attention + ".out_proj.weight"];
    output.mul_(gates->values_N().repeat_interleave(output.size(1) / gates->values_N().size(0)));
  }
  refresh_weights(*plain);
  expect_close(hidden_of(*gated), hidden_of(*plain));
}

TEST(LearntGates, OfTrainingAreSamplesOfTheKey) {
  const at::NoGradGuard no_grad;
  const Seq2Seq model = with_weights_of_seed_7(gated_config());
  set_gates(*model);
  const auto hidden_of = [&](Pass pass) { return model->forward(some_batch(), pass); };
  EXPECT_TRUE(at::equal(hidden_of(Pass::train(3)), hidden_of(Pass::train(3))));
  EXPECT_FALSE(at::allclose(hidden_of(Pass::train(3)), hidden_of(Pass::train(4)), 1e-2, 1e-2));
  EXPECT_FALSE(at::allclose(hidden_of(Pass::train(3)), hidden_of(Pass::inference()), 1e-2, 1e-2));
}

TEST(LearntGates, ThePenaltyIsTheExpectedNumberOfOpenGates) {
  const Seq2Seq model = with_weights_of_seed_7(gated_config());
  set_gates(*model);
  const TranslationObjective objective(model, {}, /*samples=*/false, {}, {}, /*gate_penalty=*/0.25);
  const std::vector<LossTerm> terms = objective.terms(some_batch());
  ASSERT_EQ(terms.size(), 2U);
  EXPECT_EQ(terms[1].name, "open_gates");
  EXPECT_EQ(terms[1].weight, 0.25);
  EXPECT_EQ(terms[1].count, 1) << "the mean over the batches of an update is its penalty";
  const auto penalty = [&] {
    Pass pass = Pass::train(3);
    const std::vector<LossSum> sums = objective.losses(some_batch(), pass);
    EXPECT_EQ(sums.size(), 2U);
    return sums.back().loss;
  };
  const Tensor sum = penalty();
  double expected = 0;
  for (int head = 1; head <= 24; ++head) expected += 1 / (1 + std::exp(3 - 0.2 * head - 0.33 * std::log(11)));
  EXPECT_NEAR(sum.item<double>(), expected, 1e-4);
  sum.backward();
  for (const auto& named : model->named_parameters()) {
    if (!is_of_gates(named.key())) continue;
    const at::NoGradGuard no_grad;
    constexpr double kStep = 0.05;
    const auto moved = [&](double by) {
      named.value()[1] += by;
      const double found = penalty().item<double>();
      named.value()[1] -= by;
      return found;
    };
    const double difference = (moved(kStep) - moved(-kStep)) / (2 * kStep);
    EXPECT_NEAR(named.value().grad()[1].item<double>(), difference, 1e-3) << named.key();
  }
  Pass validation = Pass::inference();
  EXPECT_EQ(objective.losses(some_batch(), validation).size(), 1U);
}

}  // namespace
}  // namespace attend
