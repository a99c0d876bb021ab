// The loops of decoding on a CPU. No LibTorch here: the file behind is compiled with -ffast-math and once for each
// level of x86-64.
#pragma once

#include <cstdint>

namespace attend::ops::kernels {

// A bf16 number: the upper half of an fp32 one.
struct BFloat16 {
  std::uint16_t bits;
};

// One query over `num_keys` keys that lie anywhere; the value of a key lies `value_offset` numbers behind it.
template <class T>
struct QueryOverKeys {
  const T* query;        // heads * head_size
  const T* const* keys;  // num_keys pointers to as many numbers
  std::int64_t num_keys;
  std::int64_t value_offset;
  std::int64_t heads;
  std::int64_t head_size;
  float* weights;  // out: [heads, num_keys], softmax(q kᵀ / sqrt(head_size))
  float* context;  // out: [heads * head_size], the weighted sum of the values
};
void attend_query(const QueryOverKeys<float>& row);
void attend_query(const QueryOverKeys<BFloat16>& row);

// log Σ exp(x_i) of n > 0 numbers; not finite where it has no value. `block_max` receives the maximum of every
// kBlock numbers.
inline constexpr std::int64_t kBlock = 64;
float log_sum_exp(const float* x, std::int64_t n, float* block_max);

}  // namespace attend::ops::kernels
