// Sinusoids of positions (layers.hpp) without a limit of length.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <string>

#include "models/layers/layers.hpp"

namespace attend {

// A table, which is a buffer of the model; rows beyond it are computed for longer sentences.
class SinusoidTable {
 public:
  // The sinusoids are multiplied by `scale`.
  SinusoidTable(torch::nn::Module& model, const std::string& name, std::int64_t width, double scale = 1)
      : width_(width), scale_(scale), table_TH_(model.register_buffer(name, sinusoids(0, kKept, width) * scale)) {}

  // The rows of `length` positions from `first`, [length, H].
  torch::Tensor rows(std::int64_t first, std::int64_t length) const {
    if (first + length <= kKept) return table_TH_.narrow(0, first, length);
    return sinusoids(first, length, width_).to(table_TH_.device()) * scale_;
  }

 private:
  static constexpr std::int64_t kKept = 1024;

  std::int64_t width_;
  double scale_;
  torch::Tensor table_TH_;
};

}  // namespace attend
