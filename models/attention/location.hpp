// The location score (Luong et al. 2015, arXiv 1508.04025, 3.1): a_t = softmax(W_a h_t), from the decoder's state
// alone. Row s of W_a scores position s of the source, so the length of sources is limited.
//
//   W_a h_t = (0 1 2), a source of two words:  energies 0, 1, weights 0.27, 0.73
#pragma once

#include "core/error.hpp"
#include "models/attention/score.hpp"

namespace attend {

class LocationScore : public KeylessScore {
 public:
  explicit LocationScore(const ScoreWidths& config)
      : longest_(config.longest), position_(add_map("position", config, config.query_width, config.longest)) {}

  // Sentences must not exceed the limit (Seq2SeqImpl::longest_source).
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    const std::int64_t length = keys_SA.size(-2);
    ensure(length <= longest_, "a source has at most as many pieces as the location score has positions");
    return position_->forward(queries_TH).to(torch::kFloat).narrow(-1, 0, length);
  }

 private:
  std::int64_t longest_;
  HeadLinear position_;  // W_a
};

}  // namespace attend
