// The device of a model and its precision.
#pragma once

#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include <string>

#include "models/ops/weight.hpp"

namespace attend {

// Accepts cpu, cuda, cuda:N and auto (CUDA if available). Throws UserError if there is no such device.
c10::Device device_named(const std::string& name);

// Resolves `automatic`: bf16 on a GPU or a processor with bf16 instructions, else fp32. Other precisions are returned
// unchanged.
Precision precision_for(Precision precision, c10::Device device);

// Warns if bf16 is used on a processor without bf16 instructions.
void warn_of_slow(Precision precision, c10::Device device);

// Converts every weight below `root` to its form for inference; the model can then no longer be trained. Returns the
// resolved precision. Throws UserError for int8 on a GPU.
Precision freeze(const torch::nn::Module& root, Precision precision);

}  // namespace attend
