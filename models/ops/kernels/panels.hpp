// fp32 matrix products with a packed weight, for inference: with the few rows of a decoding step, a library would spend
// most of its time copying the dense weight in each call.
#pragma once

#include <new>
#include <vector>

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

// Allocates at the beginning of a cache line, so that no vector of a panel lies across two of them.
template <class T>
struct CacheLines {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  bool operator==(const CacheLines&) const = default;
};

// W [outputs, inputs] in panels of kWidest outputs, the last one padded with zeros: numbers[panel][input][output].
struct Panels {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::vector<float, CacheLines<float>> numbers;
  std::int64_t count() const { return (outputs + kWidest - 1) / kWidest; }
};
Panels make_panels(const float* weight, std::int64_t outputs, std::int64_t inputs);

// y [rows, outputs] = x [rows, inputs] Wᵀ + bias (may be null), then relu if set. Rows are contiguous.
struct PanelProduct {
  const float* x;
  std::int64_t rows;
  const Panels& weight;
  const float* bias;
  bool relu;
  float* y;
};
// Computes the columns of panels `begin` to `end`.
void multiply(const PanelProduct& p, std::int64_t begin, std::int64_t end);

}  // namespace attend::ops::kernels
