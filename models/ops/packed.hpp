// What `Weight::freeze` makes: the form of a weight that the products of decoding read.
#pragma once

#include <torch/types.h>

#include "models/ops/weight.hpp"

namespace attend::ops {

struct PackedWeight {
  Precision precision = Precision::fp32;
  torch::Tensor weight;  // oneDNN's own blocked layout, opaque
};

}  // namespace attend::ops
