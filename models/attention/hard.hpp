// Hard attention (Xu et al. 2015, arXiv 1502.03044, 4.1): the context vector is the value of one position, s ~ a_t in
// training and arg max_s a_t(s) otherwise. Sampling has no gradient; the objective adds that of REINFORCE
// (train/translation/reinforce.hpp) from the log-probabilities recorded here. A share of the rows takes the expectation
// instead, which lowers the variance: here each target position by its own draw, in the paper each sentence as a whole
// (an image, with probability one half).
#pragma once

#include "models/attention/choice.hpp"

namespace attend {

class HardChoice : public Choice {
 public:
  explicit HardChoice(double soft_share) : soft_share_(soft_share) {}

  torch::Tensor context(const torch::Tensor& weights_TS, const torch::Tensor& values_SW, Pass& pass,
                        SampledChoices& sampled) const override;

 private:
  double soft_share_;
};

}  // namespace attend
