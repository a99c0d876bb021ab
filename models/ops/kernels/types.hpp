// What the loops of this folder and their callers share. No LibTorch here: pointers in, rows from `begin` to `end`,
// arithmetic in fp32 whatever the type in memory.
#pragma once

#include <cstdint>

#include "models/ops/mask.hpp"

namespace attend::ops::kernels {

// A bf16 number in memory: the upper half of an fp32 one.
struct Bf16 {
  std::uint16_t bits;
};

// The most numbers that a vector has at any level (lanes.hpp): what is padded is a multiple of it.
inline constexpr std::int64_t kWidest = 16;

}  // namespace attend::ops::kernels
