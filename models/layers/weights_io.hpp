// Reading and writing of weights in safetensors files, always in fp32.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/safetensors.hpp"

namespace attend {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// Every parameter under its full name, such as "encoder.layers.0.norm1.weight".
NamedTensors parameters_of(const torch::nn::Module& module);
// Every buffer of a Layer: state that training changes, such as running statistics. Buffers of other modules are
// constants, which are not saved.
NamedTensors buffers_of(const torch::nn::Module& module);
// Both, the parameters first: the tensors of a file of weights.
NamedTensors weights_of(const torch::nn::Module& module);
// The total number of elements in the parameters.
std::int64_t count_parameters(const torch::nn::Module& module);

// Writes fp32 tensors atomically. Throws UserError if the file cannot be written.
void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors, const TensorMetadata& metadata = {});

// Copies a file's tensors into the fp32 `tensors`, all or none. Throws UserError listing missing, unused and mismatched
// tensors, and for NaN and infinity.
void load_tensors(const std::filesystem::path& path, const NamedTensors& tensors);

// True for the types that as_fp32 reads: fp32, fp16 and bf16.
bool is_float(DType dtype);
// A tensor of a file in fp32; one of type fp32 shares the memory of the file.
at::Tensor as_fp32(const TensorView& view);

// Throws UserError naming `place` if a tensor contains NaN or infinity.
void refuse_nonfinite(const torch::Tensor& tensor, const std::string& place);

// The differences between a file and a module.
struct WeightReport {
  std::vector<std::string> missing;     // in the module only
  std::vector<std::string> unused;      // in the file only
  std::vector<std::string> mismatched;  // in both, with a different type or shape
  std::size_t loaded = 0;
};

// Takes tensors from the files of other programs, and reports those that are missing, mismatched and left over.
class WeightTaker {
 public:
  // `path` names the files in messages.
  explicit WeightTaker(const std::filesystem::path& path) : path_(path.string()) {}

  // A tensor in fp32; undefined, and reported, if it is not found (null) under `name` or has another type or shape.
  // Throws UserError for NaN and infinity.
  at::Tensor take(const TensorView* found, const std::string& name, at::IntArrayRef shape);
  // The report, with the tensors of `files` that were not taken and do not follow from others.
  template <class Files, class FollowsFromOthers>
  WeightReport report(const Files& files, const FollowsFromOthers& follows) && {
    for (const SafetensorsFile& file : files) {
      for (const TensorView& view : file.tensors()) {
        if (!taken_.contains(view.name) && !follows(view.name)) report_.unused.push_back(view.name);
      }
    }
    return std::move(report_);
  }

 private:
  std::string path_;
  std::set<std::string, std::less<>> taken_;
  WeightReport report_;
};

// Copies those tensors whose name and shape the file has, and refreshes the module's ops::Weights. Throws UserError for
// NaN and infinity.
WeightReport load_common_weights(const std::filesystem::path& path, const torch::nn::Module& module,
                                 const NamedTensors& tensors);

// Loads the weights of a module as load_tensors does, and refreshes its ops::Weights.
void load_weights(const std::filesystem::path& path, const torch::nn::Module& module);

}  // namespace attend
