#include "models/attention/hard.hpp"

#include <ATen/ATen.h>

#include <vector>

namespace attend {

using torch::Tensor;

namespace {

// Uniform in [0, 1), one per query, [..., T, 1]: multiples of 2^-24, since a double just below 1 would be rounded to 1.
Tensor uniform(const Tensor& weights_TS, RandomStream& random) {
  const Tensor like_T1 = weights_TS.narrow(-1, 0, 1);
  std::vector<float> numbers(like_T1.numel());
  for (float& number : numbers) number = static_cast<float>(random() >> 40) * 0x1.0p-24F;
  return at::tensor(numbers).view(like_T1.sizes()).to(weights_TS.device());
}

}  // namespace

Tensor HardChoice::context(const Tensor& weights_TS, const Tensor& values_SW, Pass& pass,
                           SampledChoices& sampled) const {
  const auto value_at = [&](const Tensor& position_T1) {
    std::vector<std::int64_t> sizes = position_T1.sizes().vec();
    sizes.back() = values_SW.size(-1);
    return values_SW.gather(-2, position_T1.expand(sizes));
  };
  if (!pass.training()) return value_at(weights_TS.argmax(-1, true));
  RandomStream random = pass.random();
  // A local scope scales weights, so that their sum is not 1.
  const Tensor probability_TS = weights_TS / weights_TS.sum(-1, true);
  const Tensor cumulative_TS = probability_TS.detach().cumsum(-1);
  const Tensor draw_T1 = uniform(weights_TS, random) * cumulative_TS.slice(-1, -1);
  const Tensor position_T1 = cumulative_TS.le(draw_T1).sum(-1, true);
  const Tensor log_probability_TS = probability_TS.clamp_min(1e-30).log();
  const Tensor soft_T1 = uniform(weights_TS, random).lt(soft_share_);
  sampled = {.log_probability_R = log_probability_TS.gather(-1, position_T1).masked_fill(soft_T1, 0).flatten(),
             .entropy_R = -(probability_TS * log_probability_TS).sum(-1).flatten()};
  return at::where(soft_T1, at::matmul(weights_TS, values_SW), value_at(position_T1));
}

}  // namespace attend
