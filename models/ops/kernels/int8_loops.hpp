// The loops of int8.cpp that the compiler vectorises; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

inline void largest_magnitude(const float* x, std::int64_t n, float& result) {
  std::uint32_t largest = 0;  // magnitudes compare like their bits: an integer maximum vectorises without -ffast-math
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffffU;
    largest = bits > largest ? bits : largest;
  }
  std::memcpy(&result, &largest, sizeof result);
}

// `sum` receives 128 times the sum of the integers.
inline void quantise_row(const float* x, std::int64_t n, float inverse_scale, std::int8_t* values, std::int32_t& sum) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  std::int32_t total = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    float shifted = x[i] * inverse_scale + kRound;
    std::int32_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    const std::int32_t value = bits - 0x4b400000;
    values[i] = static_cast<std::int8_t>(value);
    total += value;
  }
  sum = 128 * total;
}

inline void block_plain(const std::int8_t* a, const std::uint8_t* w, std::int64_t depth_blocks, std::int32_t* sums) {
  for (std::int64_t k = 0; k < depth_blocks; ++k) {
    for (std::int64_t lane = 0; lane < kOutputs; ++lane) {
      for (std::int64_t i = 0; i < kDepth; ++i) sums[lane] += a[k * kDepth + i] * w[(k * kOutputs + lane) * kDepth + i];
    }
  }
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
