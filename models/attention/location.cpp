#include "models/attention/location.hpp"

#include <ATen/ATen.h>

#include "core/error.hpp"

namespace attend {

LocationScore::LocationScore(std::int64_t query_width, std::int64_t longest)
    : longest_(longest),
      position_(register_module("position", Linear(LinearConfig{.in = query_width, .out = longest, .bias = false}))) {}

torch::Tensor LocationScore::energies(const torch::Tensor& query_RH, const torch::Tensor& keys_RSA) const {
  const std::int64_t length = keys_RSA.size(1);
  ensure(length <= longest_, "a source has at most as many pieces as the location score has positions");
  return position_->forward(query_RH).to(at::kFloat).narrow(1, 0, length);
}

}  // namespace attend
