// A register of fp32 lanes, as a GCC vector type: ATTEND_LANES is 16 with AVX-512, 8 with AVX2, 4 with SSE or NEON.
// (GCC splits types wider than a register into single lanes.) Included once per level by levels.hpp, for the files
// *_loops.hpp, which are compiled with fast-math options (models/CMakeLists.txt).
#define ATTEND_INLINE [[gnu::always_inline]] inline

namespace attend::ops::kernels::ATTEND_LEVEL {

inline constexpr std::int64_t kLanes = ATTEND_LANES;

using Floats = float __attribute__((vector_size(4 * ATTEND_LANES)));
using Ints = std::int32_t __attribute__((vector_size(4 * ATTEND_LANES)));
using Words = std::uint32_t __attribute__((vector_size(4 * ATTEND_LANES)));
using Halves = std::uint16_t __attribute__((vector_size(2 * ATTEND_LANES)));

ATTEND_INLINE Floats all(float x) { return Floats{} + x; }
ATTEND_INLINE Words lane_numbers() {
  static constexpr std::uint32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  Words result;
  std::memcpy(&result, numbers, sizeof result);
  return result;
}

ATTEND_INLINE Floats load(const float* p) {
  Floats x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
ATTEND_INLINE Floats load(const Bf16* p) {
  Halves h;
  std::memcpy(&h, p, sizeof h);
  return reinterpret_cast<Floats>(__builtin_convertvector(h, Words) << 16);
}
ATTEND_INLINE void store(float* p, Floats x) { std::memcpy(p, &x, sizeof x); }
ATTEND_INLINE void store(Bf16* p, Floats x) {
  Words u = reinterpret_cast<Words>(x);
  u += 0x7fff + ((u >> 16) & 1);  // round to nearest, ties to even
  u = x == x ? u : Words{} + 0x7fc00000;
  const Halves h = __builtin_convertvector(u >> 16, Halves);
  std::memcpy(p, &h, sizeof h);
}

// Loads the first n lanes; the others are 0.
template <class T>
ATTEND_INLINE Floats load(const T* p, std::int64_t n) {
  if (n >= kLanes) return load(p);
  T part[kLanes] = {};
  for (std::int64_t i = 0; i < n; ++i) part[i] = p[i];
  return load(part);
}
template <class T>
ATTEND_INLINE void store(T* p, Floats x, std::int64_t n) {
  if (n >= kLanes) return store(p, x);
  T part[kLanes];
  store(part, x);
  for (std::int64_t i = 0; i < n; ++i) p[i] = part[i];
}

ATTEND_INLINE Floats select(Ints condition, Floats yes, Floats no) { return condition ? yes : no; }
// Returns the second argument if either is NaN.
ATTEND_INLINE Floats max(Floats a, Floats b) { return a > b ? a : b; }
// x in the first n lanes, `rest` in the others.
ATTEND_INLINE Floats first(std::int64_t n, Floats x, float rest) {
  return select(reinterpret_cast<Ints>(lane_numbers()) < static_cast<std::int32_t>(n), x, all(rest));
}

template <int distance, int... lane>
ATTEND_INLINE Floats swap_lanes(Floats x, std::integer_sequence<int, lane...>) {
  return __builtin_shufflevector(x, x, (lane ^ distance)...);
}
// Lane i takes lane i ^ distance; all power-of-two distances together combine every lane with all others.
template <int distance>
ATTEND_INLINE Floats swap_lanes(Floats x) {
  return swap_lanes<distance>(x, std::make_integer_sequence<int, ATTEND_LANES>());
}
template <int distance, int... lane>
ATTEND_INLINE void exchange(Floats& a, Floats& b, std::integer_sequence<int, lane...>) {
  const Floats before = a;
  a = __builtin_shufflevector(before, b, ((lane & distance) == 0 ? lane : lane - distance + ATTEND_LANES)...);
  b = __builtin_shufflevector(before, b, ((lane & distance) == 0 ? lane + distance : lane + ATTEND_LANES)...);
}
// The lanes of a whose number has the bit `distance` change places with those of b that lack it.
template <int distance>
ATTEND_INLINE void exchange(Floats& a, Floats& b) {
  exchange<distance>(a, b, std::make_integer_sequence<int, ATTEND_LANES>());
}
ATTEND_INLINE float sum(Floats x) {
  if constexpr (kLanes >= 16) x += swap_lanes<8>(x);
  if constexpr (kLanes >= 8) x += swap_lanes<4>(x);
  x += swap_lanes<2>(x);
  return (x + swap_lanes<1>(x))[0];
}
ATTEND_INLINE float largest(Floats x) {
  if constexpr (kLanes >= 16) x = max(x, swap_lanes<8>(x));
  if constexpr (kLanes >= 8) x = max(x, swap_lanes<4>(x));
  x = max(x, swap_lanes<2>(x));
  return max(x, swap_lanes<1>(x))[0];
}

// e^x for |x| < 87, to 2 ulp; smaller x give about 1e-38, not 0. Cody and Waite's reduction, Cephes' polynomial.
ATTEND_INLINE Floats exp(Floats x) {
  x = x < -87.0f ? all(-87.0f) : x;
  x = x > 87.0f ? all(87.0f) : x;
  const Floats scaled = x * 1.44269504f;
  const Ints n = __builtin_convertvector(scaled + (scaled < 0 ? all(-0.5f) : all(0.5f)), Ints);
  const Floats whole = __builtin_convertvector(n, Floats);
  const Floats r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  Floats p = all(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return reinterpret_cast<Floats>(reinterpret_cast<Ints>(p) + (n << 23));
}

// The same, but 0 where x < -87, so that an energy of -infinity gives a weight of exactly 0.
ATTEND_INLINE Floats exp_or_zero(Floats x) { return select(x < -87.0f, Floats{}, exp(x)); }

ATTEND_INLINE Floats sigmoid(Floats x) { return 1.0f / (1.0f + exp(-x)); }

// Relative error about 1e-6: near zero, where the exponential loses precision, uses Cephes' polynomial.
ATTEND_INLINE Floats tanh(Floats x) {
  const Floats z = x * x;
  Floats p = all(-5.70498872745e-3f);
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  return select(z < 0.390625f, p * z * x + x, 1.0f - 2.0f / (exp(2.0f * x) + 1.0f));
}

// Σ a_j b_j of n elements, with four independent sums to hide latency.
template <class T, class U>
ATTEND_INLINE float dot(const T* a, const U* b, std::int64_t n) {
  Floats sums[4] = {};
  std::int64_t j = 0;
  for (; j + 4 * kLanes <= n; j += 4 * kLanes) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[v] += load(a + j + v * kLanes) * load(b + j + v * kLanes);
  }
  for (; j < n; j += kLanes) sums[0] += load(a + j, n - j) * load(b + j, n - j);
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// Calls f(j, Σ_s factors[s * stride] vector(s)[j, j + 1, …]) for every whole vector of `width` columns (the last may
// extend past the width), four vectors at a time, kept in registers over all s < count.
template <class Vector, class F>
ATTEND_INLINE void weighted_sum(std::int64_t width, std::int64_t count, const float* factors, std::int64_t stride,
                                const Vector& vector, const F& f) {
  constexpr std::int64_t kBlock = 4 * kLanes;
  for (std::int64_t begin = 0; begin < width; begin += kBlock) {
    Floats sums[4] = {};
    const auto add = [&](const auto& load_vector) __attribute__((always_inline)) {
      for (std::int64_t s = 0; s < count; ++s) {
        const auto* from = vector(s) + begin;
        const Floats factor = all(factors[s * stride]);
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sums[v] += factor * load_vector(from + v * kLanes, width - begin - v * kLanes);
      }
    };
    if (width - begin >= kBlock) {
      add([](const auto* from, std::int64_t) __attribute__((always_inline)) { return load(from); });
    } else {
      add([](const auto* from, std::int64_t n) __attribute__((always_inline)) { return load(from, n); });
    }
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      if (begin + v * kLanes < width) f(begin + v * kLanes, sums[v]);
    }
  }
}

// The factors of elements i, i + 1, … (elementwise.hpp).
ATTEND_INLINE Floats keep(const DropoutMask& mask, std::uint32_t i) {
  Words x = (lane_numbers() + i) * DropoutMask::kStride + mask.low;
  x = (x ^ (x >> 16)) * DropoutMask::kFirst;
  x = ((x ^ (x >> 15)) + mask.high) * DropoutMask::kSecond;
  x = x ^ (x >> 16);
  return select(x < mask.threshold, Floats{}, all(mask.scale));
}
ATTEND_INLINE Floats keep(const RowDropout& dropout, std::int64_t i, std::int64_t j) {
  if (!dropout.mask.drops()) return all(1);
  return keep(dropout.mask, static_cast<std::uint32_t>(dropout.rows[i] * dropout.width + dropout.column + j));
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
