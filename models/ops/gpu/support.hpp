// Shared code of the GPU's forms: random numbers that follow from a key, and products in fp32.
#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>
#include <mutex>

#include "models/ops/autograd.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops::gpu {

// Restarts the device's generator, from which the next op draws, so that what it drops follows from `key` alone: a
// resumed run drops the same elements. They are not those that the processor drops.
inline void seed_generator(torch::Device device, std::uint64_t key) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(key);
}

// a b in fp32 for factors of either type: tensor cores add bf16 products in fp32, and nothing is rounded to bf16.
inline Tensor product_in_fp32(const Tensor& a_MK, const Tensor& b_KN) {
  return a_MK.scalar_type() == at::kFloat ? at::mm(a_MK, b_KN) : at::mm(a_MK, b_KN, at::kFloat);
}

}  // namespace attend::ops::gpu
