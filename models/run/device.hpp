// The device that a model computes on, and the precision that suits it.
#pragma once

#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include <string>

#include "models/ops/weight.hpp"

namespace attend {

// cpu, cuda or cuda:N; auto is CUDA where there is some. UserError where there is no such device.
c10::Device device_named(const std::string& name);

// Of `automatic` bf16 where the device multiplies it natively, else fp32; every other precision is itself.
Precision precision_for(Precision precision, c10::Device device);

// Warns of bf16 on a processor that has to widen every product to fp32.
void warn_of_slow(Precision precision, c10::Device device);

// Packs every weight below `root` for inference; the model can then no longer be trained. Returns the precision of
// precision_for. UserError for int8 on a GPU.
Precision freeze(const torch::nn::Module& root, Precision precision);

}  // namespace attend
