// The gradient of hard attention's samples (Williams 1992, REINFORCE; Xu et al. 2015, arXiv 1502.03044, eq. 11 and 12).
// For target positions t with sampled source positions s_t,
//   loss = -λ_r Σ_t (R_t - b n_t) log a_t(s_t) - λ_e Σ_t H[a_t]
// where R_t = Σ_{u≥t} log p(y_u | …) is the log-probability of the n_t words from t on (only these depend on s_t), and
// H the entropy. The baseline b lowers the variance: the moving average of the log-probability of a word over past
// updates, or before the first one its mean in the batch. R_t and b are constants to the gradient.
#pragma once

#include <torch/types.h>

#include "data/batch/batch.hpp"
#include "models/layers/pass.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {

class Reinforce {
 public:
  Reinforce(double weight, double entropy_weight);

  // The loss, summed over a batch of sentences with this layout. nll_M [M]: the negative log-likelihood of each word.
  torch::Tensor loss(const SampledChoices& sampled, const torch::Tensor& nll_M, const Layout& layout) const;

  // Called after each update with the mean log-probability of its words.
  void move_baseline(double log_probability);

  // The baseline, stored in checkpoints.
  NamedTensors state() const { return {{"reinforce.baseline", baseline_}}; }

 private:
  double weight_, entropy_weight_;
  torch::Tensor baseline_;  // Σ_k 0.1 · 0.9^k mean_k and Σ_k 0.1 · 0.9^k over updates k, latest first; b is their ratio
};

}  // namespace attend
