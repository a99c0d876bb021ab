// Tensors to and from safetensors files. Files hold fp32, whatever the model computes in.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/safetensors.hpp"

namespace attend {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// Every parameter under its full name, such as "encoder.layers.0.norm1.weight". Buffers are not weights.
NamedTensors parameters_of(const torch::nn::Module& module);
// The number of their elements.
std::int64_t count_parameters(const torch::nn::Module& module);

// Writes fp32 tensors atomically. UserError when the file cannot be written.
void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors, const TensorMetadata& metadata = {});

// Copies a file's tensors into fp32 `tensors`, all of them or none. UserError listing missing, unused and mismatched
// ones.
void load_tensors(const std::filesystem::path& path, const NamedTensors& tensors);

// UserError naming `place` for a tensor with NaN or infinity.
void refuse_nonfinite(const torch::Tensor& tensor, const std::string& place);

// The differences between a file and a module.
struct WeightReport {
  std::vector<std::string> missing;     // of the module, not in the file
  std::vector<std::string> unused;      // of the file, not in the module
  std::vector<std::string> mismatched;  // in both, with a different type or shape
  std::size_t loaded = 0;
};

// Copies the parameters that the file has in the same shape, and refreshes the module's ops::Weights.
WeightReport load_common_weights(const std::filesystem::path& path, const torch::nn::Module& module,
                                 const NamedTensors& parameters);

// The same as load_tensors of a module's parameters; its ops::Weights are refreshed.
void load_weights(const std::filesystem::path& path, const torch::nn::Module& module);

}  // namespace attend
