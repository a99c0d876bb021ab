#include "models/attention/location.hpp"

#include <ATen/ATen.h>

#include <string>

#include "core/error.hpp"

namespace attend {

LocationScore::LocationScore(std::int64_t query_width, std::int64_t longest)
    : longest_(longest),
      position_(register_module("position", Linear(LinearConfig{.in = query_width, .out = longest, .bias = false}))) {}

torch::Tensor LocationScore::energies(const torch::Tensor& query_RH, const torch::Tensor& keys_RSA) const {
  const std::int64_t length = keys_RSA.size(1);
  if (length > longest_) {
    throw UserError("a source of " + std::to_string(length) + " pieces, but --score location has weights for " +
                        std::to_string(longest_) + " positions",
                    "shorten the line, or train with a larger --longest-source");
  }
  return position_->forward(query_RH).to(at::kFloat).narrow(1, 0, length);
}

}  // namespace attend
