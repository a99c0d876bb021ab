#include "analysis/early_stopping.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/signals.hpp"
#include "train/optimiser.hpp"

namespace attend {

void train_with_early_stopping(const torch::nn::Module& module, const EarlyStopping& how) {
  ensure(how.items > 0 && how.batch > 0, "there is something to learn from");
  const auto optimiser =
      make_optimiser(module, {.optimiser = OptimiserKind::adam, .beta2 = 0.999, .epsilon = {}, .clip_norm = 0});
  const std::vector<torch::Tensor> weights = module.parameters();
  std::vector<torch::Tensor> best;
  std::vector<std::int64_t> order(static_cast<std::size_t>(how.items));
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(how.seed);
  double rate = how.learning_rate, least = std::numeric_limits<double>::infinity();
  for (int epoch = 0, without_gain = 0; epoch < EarlyStopping::kMostEpochs; ++epoch) {
    signals::throw_if_stopped("the probes were interrupted");
    shuffle(order, random);
    for (std::size_t begin = 0; begin < order.size(); begin += static_cast<std::size_t>(how.batch)) {
      const std::size_t count = std::min(order.size() - begin, static_cast<std::size_t>(how.batch));
      how.loss(std::span(order).subspan(begin, count)).backward();
      optimiser->step(rate, /*norm=*/0);  // nothing is clipped
    }
    const torch::NoGradGuard no_grad;
    const double loss = how.held_out_loss();
    if (best.empty() || loss < least) {
      least = loss;
      without_gain = 0;
      best.clear();
      for (const torch::Tensor& weight : weights) best.push_back(weight.clone());
    } else {
      rate /= 2;
      if (++without_gain == EarlyStopping::kPatience) break;
    }
  }
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i].copy_(best[i]);
}

}  // namespace attend
