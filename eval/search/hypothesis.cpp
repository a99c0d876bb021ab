#include "eval/search/hypothesis.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "models/ops/padded.hpp"

namespace attend {

void SourceCoverage::on_attention(AttentionPlace place, std::int64_t /*layer*/, const torch::Tensor& weights_RN1S) {
  if (place == AttentionPlace::cross) weights_RN1S_ = weights_RN1S;
}

void SourceCoverage::select(std::span<const std::int64_t> rows) {
  if (sums_RS_.defined()) sums_RS_ = sums_RS_.index_select(0, ops::to_tensor(rows, sums_RS_));
}

void SourceCoverage::add_step() {
  if (!weights_RN1S_.defined()) {
    throw UserError("--coverage-penalty: the model's decoder has no attention to the source", "leave it out");
  }
  const torch::Tensor mean_RS = std::exchange(weights_RN1S_, {}).mean(1).squeeze(1).to(at::kCPU, at::kFloat);
  sums_RS_ = (sums_RS_.defined() ? sums_RS_ + mean_RS : mean_RS).contiguous();
}

double SourceCoverage::penalty(std::int64_t row, std::int64_t src_length) const {
  constexpr double kLeast = 1e-6;
  const float* const sums = sums_RS_.const_data_ptr<float>() + row * sums_RS_.size(1);
  double penalty = 0;
  for (std::int64_t s = 0; s < src_length; ++s) penalty += std::log(std::clamp<double>(sums[s], kLeast, 1.0));
  return penalty;
}

}  // namespace attend
