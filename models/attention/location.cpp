#include "models/attention/location.hpp"

#include <ATen/ATen.h>

#include "core/error.hpp"

namespace attend {

LocationScore::LocationScore(const ScoreWidths& config)
    : longest_(config.longest_source),
      position_(register_module("position", HeadLinear(config.heads, config.query_width, config.longest_source))) {}

torch::Tensor LocationScore::energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA) const {
  const std::int64_t length = keys_SA.size(-2);
  ensure(length <= longest_, "a source has at most as many pieces as the location score has positions");
  return position_->forward(queries_TH).to(at::kFloat).narrow(-1, 0, length);
}

}  // namespace attend
