// Hard attention's gradient: samples and REINFORCE beside the exact expectation, by enumeration.
#include "train/translation/objective.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <cmath>
#include <vector>

#include "models/attention/weights.hpp"
#include "tests/support/layout.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr std::int64_t kPositions = 3;
const Tensor kValues = at::tensor({-0.7f, 0.4f, 1.3f});

// A decoder of two steps: what it attends to at the second depends on what it chose at the first. Of R rows, energies
// [R, S] from the state, and the negative log-likelihood of a word.
Tensor energies(const Tensor& theta_S, const Tensor& state_R) {
  return theta_S + state_R.unsqueeze(1) * theta_S.flip(0);
}
Tensor nll(const Tensor& theta_S, const Tensor& state_R) { return (state_R - theta_S.sum()).square(); }

// The gradient of E[Σ_t nll_t] over the nine paths.
Tensor exact_gradient(const Tensor& theta_S) {
  Tensor expected = at::zeros({});
  const Tensor start = at::zeros({1});
  const Tensor first = at::softmax(energies(theta_S, start), 1)[0];
  for (std::int64_t i = 0; i < kPositions; ++i) {
    const Tensor state = at::tanh(start + kValues[i]);
    const Tensor second = at::softmax(energies(theta_S, state), 1)[0];
    for (std::int64_t j = 0; j < kPositions; ++j) {
      const Tensor next = at::tanh(state + kValues[j]);
      expected = expected + first[i] * second[j] * (nll(theta_S, state)[0] + nll(theta_S, next)[0]);
    }
  }
  return torch::autograd::grad({expected}, {theta_S})[0];
}

// The mean gradient of `rows` samples.
Tensor sampled_gradient(const Tensor& theta_S, const HardChoice& choice, Reinforce& reinforce, std::int64_t rows,
                        std::uint64_t key) {
  Pass pass = Pass::train(key);
  const Tensor values = kValues.view({1, kPositions, 1}).expand({rows, kPositions, 1});
  Tensor state = at::zeros({rows});
  std::vector<Tensor> losses, log_probabilities, entropies;
  for (int t = 0; t < 2; ++t) {
    SampledChoices sampled;
    const Tensor weights = at::softmax(energies(theta_S, state), 1).unsqueeze(1);
    state = at::tanh(state + choice.context(weights, values, pass, sampled).flatten());
    losses.push_back(nll(theta_S, state));
    log_probabilities.push_back(sampled.log_probability_R);
    entropies.push_back(sampled.entropy_R);
  }
  const auto by_row = [](const std::vector<Tensor>& steps) { return at::stack(steps, 1).flatten(); };
  const Tensor nll_M = by_row(losses);
  const SampledChoices all{.log_probability_R = by_row(log_probabilities), .entropy_R = by_row(entropies)};
  const Layout layout = layout_of(std::vector<std::int64_t>(rows, 2));
  const Tensor loss = nll_M.sum() + reinforce.loss(all, nll_M, layout);
  reinforce.move_baseline(-nll_M.mean().item<double>());
  return torch::autograd::grad({loss}, {theta_S})[0] / static_cast<double>(rows);
}

TEST(HardAttention, ItsMeanGradientIsThatOfTheExpectation) {
  const Tensor theta = at::tensor({0.2f, -0.5f, 0.3f}).requires_grad_();
  const Tensor exact = exact_gradient(theta);
  const HardChoice choice(/*soft_share=*/0);
  Reinforce reinforce(/*weight=*/1, /*entropy_weight=*/0);
  std::vector<Tensor> means;  // 100,000 samples
  for (std::uint64_t batch = 0; batch < 100; ++batch) {
    means.push_back(sampled_gradient(theta, choice, reinforce, 1000, batch));
  }
  const Tensor all = at::stack(means), error = all.std(0) / std::sqrt(100.0);
  EXPECT_TRUE(((all.mean(0) - exact).abs() < 3 * error).all().item<bool>()) << all.mean(0) << exact << error;
  // Tight enough to tell that the samples' own part is there.
  EXPECT_TRUE((error < 0.02 * exact.norm()).all().item<bool>()) << error << exact;
  Reinforce without(/*weight=*/0, /*entropy_weight=*/0);
  EXPECT_GT((sampled_gradient(theta, choice, without, 100'000, 7) - exact).abs().max().item<double>(),
            10 * error.max().item<double>());
}

// Every row takes the expectation: nothing is sampled.
TEST(HardAttention, IsSoftAtAShareOfOne) {
  const Tensor weights = torch::tensor({{{0.2f, 0.3f, 0.5f}}});
  Pass pass = Pass::train(1);
  SampledChoices sampled;
  const Tensor context = HardChoice(1).context(weights, kValues.view({1, kPositions, 1}), pass, sampled);
  EXPECT_NEAR(context.item<float>(), -0.14f + 0.12f + 0.65f, 1e-6);
  EXPECT_EQ(sampled.log_probability_R.item<float>(), 0);
  EXPECT_NEAR(sampled.entropy_R.item<float>(), 1.0296530, 1e-6);
}

TEST(HardAttention, TakesTheLargestWeightOutsideTraining) {
  Pass pass = Pass::inference();
  SampledChoices sampled;
  const Tensor weights = torch::tensor({{{0.2f, 0.5f, 0.3f}}});
  EXPECT_EQ(HardChoice(0.5).context(weights, kValues.view({1, kPositions, 1}), pass, sampled).item<float>(), 0.4f);
  EXPECT_FALSE(sampled.entropy_R.defined());
}

TEST(Reinforce, TheBaselineIsTheMovingMeanOfAWord) {
  Reinforce reinforce(1, 0);
  const Layout layout = layout_of({2, 1});
  const SampledChoices sampled{.log_probability_R = at::tensor({-1.0f, -2.0f, -3.0f}), .entropy_R = at::zeros({3})};
  // Before the first update, the batch's own mean -2: gains beyond it are 1, 1 - 1 = ... from each word to its
  // sentence's end.
  EXPECT_NEAR(reinforce.loss(sampled, at::tensor({1.0f, 3.0f, 2.0f}), layout).item<float>(), -(0 * 1 + -1 * -2 + 0),
              1e-6);
  reinforce.move_baseline(-2);
  // Then b = -2: gains beyond it are (-1 - 1) + 4, -1 + 2 and -4 + 2.
  EXPECT_NEAR(reinforce.loss(sampled, at::tensor({1.0f, 1.0f, 4.0f}), layout).item<float>(),
              -(2 * -1 + 1 * -2 + -2 * -3), 1e-6);
  reinforce.move_baseline(-3);
  const Tensor baseline = reinforce.state()[0].second;
  EXPECT_NEAR(baseline[0].item<float>() / baseline[1].item<float>(), (0.9 * -2 + -3) / 1.9, 1e-6);
}

}  // namespace
}  // namespace attend
