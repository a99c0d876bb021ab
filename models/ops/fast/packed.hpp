// The packed forms of a weight: for decoding, made by `Weight::freeze`, and for logits.
#pragma once

#include <torch/types.h>

#include <mutex>

#include "models/ops/kernels/packed.hpp"
#include "models/ops/weight.hpp"

namespace attend::ops {

struct PackedWeight {
  Precision precision = Precision::fp32;
  kernels::Panels panels;        // fp32
  torch::Tensor blocked;         // bf16: oneDNN's own layout, opaque
  kernels::Int8Weight integers;  // int8
};

// Made by the first op that computes bf16 logits with the weight; copies of the weight share it.
struct LogitsWeight {
  std::once_flag made;
  kernels::Bf16Panels panels;
};

}  // namespace attend::ops
