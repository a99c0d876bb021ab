#include "train/translation/reinforce.hpp"

#include <ATen/ATen.h>

#include <vector>

#include "models/ops/padded.hpp"

namespace attend {

using torch::Tensor;

namespace {

// Σ_{u≥t} x_u within each sentence, [M].
Tensor sums_to_the_end(const Tensor& x_M, const Layout& layout) {
  std::vector<std::int64_t> last;
  for (std::int64_t b = 0; b < layout.size(); ++b) {
    last.insert(last.end(), layout.length(b), layout.offsets[b + 1] - 1);
  }
  const Tensor sums_M = x_M.cumsum(0);
  return sums_M.index_select(0, ops::to_tensor(last, x_M)) - sums_M + x_M;
}

}  // namespace

Reinforce::Reinforce(double weight, double entropy_weight)
    : weight_(weight), entropy_weight_(entropy_weight), baseline_(at::zeros({2})) {}

Tensor Reinforce::loss(const SampledChoices& sampled, const Tensor& nll_M, const Layout& layout) const {
  const Tensor gain_M = -nll_M.detach().to(at::kDouble);
  const double total = baseline_[1].item<double>();
  const double baseline = total > 0 ? baseline_[0].item<double>() / total : gain_M.mean().item<double>();
  const Tensor advantage_M = sums_to_the_end(gain_M - baseline, layout).to(at::kFloat);
  return -weight_ * (advantage_M * sampled.log_probability_R).sum() - entropy_weight_ * sampled.entropy_R.sum();
}

void Reinforce::move_baseline(double log_probability) {
  baseline_.mul_(0.9).add_(at::tensor({0.1 * log_probability, 0.1}, at::kFloat));
}

}  // namespace attend
