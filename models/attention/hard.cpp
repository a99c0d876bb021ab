#include "models/attention/hard.hpp"

#include <ATen/ATen.h>

#include <vector>

namespace attend {

using torch::Tensor;

namespace {

// Uniform in [0, 1), one per row: multiples of 2^-24, since a double just below 1 would be rounded to 1.
Tensor uniform(std::int64_t count, RandomStream& random, const Tensor& like) {
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(random() >> 40) * 0x1.0p-24F;
  return at::tensor(numbers).to(like.device());
}

}  // namespace

Tensor HardChoice::context(const Tensor& weights_RS, const Tensor& values_RSW, Pass& pass,
                           SampledChoices& sampled) const {
  const auto value_at = [&](const Tensor& position_R1) {
    return values_RSW.gather(1, position_R1.unsqueeze(2).expand({-1, 1, values_RSW.size(2)})).squeeze(1);
  };
  if (!pass.training()) return value_at(weights_RS.argmax(1, true));
  RandomStream random = pass.random();
  // A local scope scales weights, so that their sum is not 1.
  const Tensor probability_RS = weights_RS / weights_RS.sum(1, true);
  const Tensor cumulative_RS = probability_RS.detach().cumsum(1);
  const Tensor draw_R1 = uniform(weights_RS.size(0), random, weights_RS).unsqueeze(1) * cumulative_RS.slice(1, -1);
  const Tensor position_R1 = cumulative_RS.le(draw_R1).sum(1, true);
  const Tensor log_probability_RS = probability_RS.clamp_min(1e-30).log();
  const Tensor soft_R1 = uniform(weights_RS.size(0), random, weights_RS).unsqueeze(1).lt(soft_share_);
  sampled = {.log_probability_R = log_probability_RS.gather(1, position_R1).masked_fill(soft_R1, 0).squeeze(1),
             .entropy_R = -(probability_RS * log_probability_RS).sum(1)};
  const Tensor expectation_RW = at::matmul(weights_RS.unsqueeze(1), values_RSW).squeeze(1);
  return at::where(soft_R1, expectation_RW, value_at(position_R1));
}

}  // namespace attend
