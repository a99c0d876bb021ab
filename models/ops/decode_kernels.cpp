#include "models/ops/decode_kernels.hpp"

#include <bit>
#include <cmath>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define ATTEND_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ATTEND_CLONES
#endif
#define ATTEND_INLINE inline __attribute__((always_inline))

namespace attend::ops::kernels {
namespace {

ATTEND_INLINE float to_float(float x) { return x; }
ATTEND_INLINE float to_float(BFloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

template <class T>
ATTEND_INLINE void attend_query_inline(const QueryOverKeys<T>& row) {
  const std::int64_t heads = row.heads;
  const std::int64_t size = row.head_size;
  const std::int64_t n = row.num_keys;
  const float scale = 1.0F / std::sqrt(static_cast<float>(size));
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const T* query = row.query + h * size;
      const T* key = row.keys[j] + h * size;
      float dot = 0;
      for (std::int64_t d = 0; d < size; ++d) dot += to_float(query[d]) * to_float(key[d]);
      row.weights[h * n + j] = dot * scale;
    }
  }
  for (std::int64_t h = 0; h < heads; ++h) {
    float* weights = row.weights + h * n;
    float max = n > 0 ? weights[0] : 0;
    for (std::int64_t j = 1; j < n; ++j) max = weights[j] > max ? weights[j] : max;
    float sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      weights[j] = std::exp(weights[j] - max);
      sum += weights[j];
    }
    const float inverse = 1.0F / sum;
    for (std::int64_t j = 0; j < n; ++j) weights[j] *= inverse;
  }
  for (std::int64_t i = 0; i < heads * size; ++i) row.context[i] = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const float weight = row.weights[h * n + j];
      const T* value = row.keys[j] + row.value_offset + h * size;
      float* context = row.context + h * size;
      for (std::int64_t d = 0; d < size; ++d) context[d] += weight * to_float(value[d]);
    }
  }
}

}  // namespace

ATTEND_CLONES void attend_query(const QueryOverKeys<float>& row) { attend_query_inline(row); }
ATTEND_CLONES void attend_query(const QueryOverKeys<BFloat16>& row) { attend_query_inline(row); }

ATTEND_CLONES float log_sum_exp(const float* x, std::int64_t n, float* block_max) {
  float max = x[0];
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t end = begin + kBlock < n ? begin + kBlock : n;
    float highest = x[begin];
    for (std::int64_t i = begin; i < end; ++i) highest = x[i] > highest ? x[i] : highest;
    block_max[begin / kBlock] = highest;
    max = highest > max ? highest : max;
  }
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - max);
  return max + std::log(sum);
}

}  // namespace attend::ops::kernels
