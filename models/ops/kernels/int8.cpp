#include "models/ops/kernels/int8.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace attend::ops {
namespace {

constexpr std::int64_t kLanes = 16;  // outputs of a block: the 32-bit lanes of one register
constexpr std::int64_t kDepth = 4;   // inputs of a block: the bytes of one lane

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// A row of activations as integers, padded with zeros to whole blocks.
struct QuantisedRows {
  std::int64_t stride = 0;
  std::unique_ptr<std::int8_t[]> values;
  std::unique_ptr<float[]> scales;       // x = scale * integer
  std::unique_ptr<std::int32_t[]> sums;  // 128 times the sum of the row
};

#if defined(__x86_64__)
#define ATTEND_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ATTEND_CLONES
#endif

ATTEND_CLONES float largest_magnitude(const float* x, std::int64_t n) {
  std::uint32_t largest = 0;  // magnitudes order like their bits: a maximum of integers vectorises without -ffast-math
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffffU;
    largest = bits > largest ? bits : largest;
  }
  float result;
  std::memcpy(&result, &largest, sizeof result);
  return result;
}

ATTEND_CLONES std::int32_t quantise_row(const float* x, std::int64_t n, float inverse_scale, std::int8_t* values) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    float shifted = x[i] * inverse_scale + kRound;
    std::int32_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    const std::int32_t value = bits - 0x4b400000;
    values[i] = static_cast<std::int8_t>(value);
    sum += value;
  }
  return sum;
}

QuantisedRows quantise(const float* x, std::int64_t rows, std::int64_t inputs) {
  QuantisedRows q;
  q.stride = round_up(inputs, kDepth);
  q.values = std::make_unique_for_overwrite<std::int8_t[]>(rows * q.stride);
  q.scales = std::make_unique_for_overwrite<float[]>(rows);
  q.sums = std::make_unique_for_overwrite<std::int32_t[]>(rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float largest = largest_magnitude(x + r * inputs, inputs);
    // An infinite or NaN row stays visible: its scale makes every product NaN.
    const bool finite = std::isfinite(largest);
    const float inverse = finite && largest > 0 ? 127.0F / largest : 0.0F;
    std::int8_t* values = q.values.get() + r * q.stride;
    q.sums[r] = 128 * quantise_row(x + r * inputs, finite ? inputs : 0, inverse, values);
    std::fill(values + (finite ? inputs : 0), values + q.stride, std::int8_t{0});
    q.scales[r] = finite ? largest / 127.0F : std::nanf("");
  }
  return q;
}

// One value of the result from its integer sum.
inline float finish(std::int32_t sum, std::int32_t row_sum, float scale, float weight_scale, float bias, bool relu) {
  const float y = static_cast<float>(sum - row_sum) * (scale * weight_scale) + bias;
  return relu && y < 0 ? 0.0F : y;
}

ATTEND_CLONES void block_plain(const std::int8_t* a, const std::uint8_t* w, std::int64_t depth_blocks,
                               std::int32_t* sums) {
  for (std::int64_t k = 0; k < depth_blocks; ++k) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      for (std::int64_t i = 0; i < kDepth; ++i) sums[lane] += a[k * kDepth + i] * w[(k * kLanes + lane) * kDepth + i];
    }
  }
}

void linear_plain(const QuantisedRows& q, std::int64_t rows, const Int8Weight& weight, const float* bias, bool relu,
                  float* y) {
  const std::int64_t depth_blocks = q.stride / kDepth;
  for (std::int64_t block = 0; block < weight.outputs; block += kLanes) {
    const std::uint8_t* w = weight.blocks.data() + block * q.stride;
    const std::int64_t lanes = std::min(kLanes, weight.outputs - block);
    for (std::int64_t r = 0; r < rows; ++r) {
      std::int32_t sums[kLanes] = {};
      block_plain(q.values.get() + r * q.stride, w, depth_blocks, sums);
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const std::int64_t o = block + lane;
        y[r * weight.outputs + o] =
            finish(sums[lane], q.sums[r], q.scales[r], weight.scales[o], bias ? bias[o] : 0, relu);
      }
    }
  }
}

#if defined(__x86_64__)

struct Tile {  // what a call of a kernel works on: some rows of x and some blocks of outputs
  const QuantisedRows& q;
  const Int8Weight& weight;
  const float* bias;
  bool relu;
  float* y;
};

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vnni")

using Lanes = std::int32_t __attribute__((vector_size(64)));

// kRows rows by kBlocks blocks of 16 outputs, kept in registers over the whole depth. `sums` has constant
// indices (a fold, no loop) and a vector type of its own: GCC 12 keeps in memory what a loop indexes and what is
// __m512i.
template <int kRows, int kBlocks, std::size_t... I>
void tile_vnni(const Tile& tile, std::int64_t row, std::int64_t output, std::index_sequence<I...>) {
  const std::int64_t stride = tile.q.stride;
  const std::int64_t depth_blocks = stride / kDepth;
  const std::int8_t* a = tile.q.values.get() + row * stride;
  const std::uint8_t* w = tile.weight.blocks.data() + output * stride;
  const auto activations = [&](std::size_t r, std::int64_t k) {
    std::int32_t four;
    std::memcpy(&four, a + static_cast<std::int64_t>(r) * stride + k * kDepth, sizeof four);
    return _mm512_set1_epi32(four);
  };
  const auto weights = [&](std::size_t b, std::int64_t k) {
    return _mm512_loadu_si512(w + static_cast<std::int64_t>(b) * kLanes * stride + k * kLanes * kDepth);
  };
  Lanes sums[sizeof...(I)] = {};
  for (std::int64_t k = 0; k < depth_blocks; ++k) {
    ((sums[I] = reinterpret_cast<Lanes>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums[I]), weights(I % kBlocks, k),
                                                            activations(I / kBlocks, k)))),
     ...);
  }
  const std::int64_t outputs = tile.weight.outputs;
  const auto finish_lanes = [&](__m512i sum, std::int64_t r, std::int64_t o) {
    const std::int64_t lanes = std::min(kLanes, outputs - o);
    const auto mask = static_cast<__mmask16>((1U << lanes) - 1);
    const __m512 bias = tile.bias ? _mm512_maskz_loadu_ps(mask, tile.bias + o) : _mm512_setzero_ps();
    const __m512 scale =
        _mm512_mul_ps(_mm512_set1_ps(tile.q.scales[r]), _mm512_loadu_ps(tile.weight.scales.data() + o));
    sum = _mm512_sub_epi32(sum, _mm512_set1_epi32(tile.q.sums[r]));
    // Multiplied and added in two roundings, as the plain loop does.
    __m512 y = _mm512_add_ps(_mm512_mul_ps(_mm512_maskz_cvtepi32_ps(0xffff, sum), scale), bias);
    if (tile.relu)
      y = _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(y, _mm512_setzero_ps(), _CMP_LT_OQ), _mm512_setzero_ps());
    _mm512_mask_storeu_ps(tile.y + r * outputs + o, mask, y);
  };
  (finish_lanes(reinterpret_cast<__m512i>(sums[I]), row + static_cast<std::int64_t>(I) / kBlocks,
                output + static_cast<std::int64_t>(I) % kBlocks * kLanes),
   ...);
}

template <int kBlocks>
void rows_vnni(const Tile& tile, std::int64_t rows, std::int64_t output) {
  std::int64_t r = 0;
  for (; r + 6 <= rows; r += 6) tile_vnni<6, kBlocks>(tile, r, output, std::make_index_sequence<6 * kBlocks>());
  switch (rows - r) {
    case 5:
      return tile_vnni<5, kBlocks>(tile, r, output, std::make_index_sequence<5 * kBlocks>());
    case 4:
      return tile_vnni<4, kBlocks>(tile, r, output, std::make_index_sequence<4 * kBlocks>());
    case 3:
      return tile_vnni<3, kBlocks>(tile, r, output, std::make_index_sequence<3 * kBlocks>());
    case 2:
      return tile_vnni<2, kBlocks>(tile, r, output, std::make_index_sequence<2 * kBlocks>());
    case 1:
      return tile_vnni<1, kBlocks>(tile, r, output, std::make_index_sequence<1 * kBlocks>());
    default:
      return;
  }
}

void linear_vnni(const QuantisedRows& q, std::int64_t rows, const Int8Weight& weight, const float* bias, bool relu,
                 float* y) {
  const Tile tile{q, weight, bias, relu, y};
  const std::int64_t padded = round_up(weight.outputs, kLanes);
  std::int64_t output = 0;
  for (; output + 4 * kLanes <= padded; output += 4 * kLanes) rows_vnni<4>(tile, rows, output);
  for (; output < padded; output += kLanes) rows_vnni<1>(tile, rows, output);
}
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2")

// Without VNNI, bytes are widened to 16 bits and multiplied in pairs: a register of sums holds four outputs, each as
// the sum over inputs 0 and 1 of every block and the sum over inputs 2 and 3.
constexpr std::int64_t kHalf = kLanes / 2;  // outputs of a tile: two registers of sums a row
using Pairs = std::int32_t __attribute__((vector_size(32)));

// kRows rows, widened, by 8 outputs; `a` is the first of them.
template <int kRows, std::size_t... I>
void tile_avx2(const Tile& tile, const std::int16_t* a, std::int64_t row, std::int64_t output,
               std::index_sequence<I...>) {
  const std::int64_t stride = tile.q.stride;
  const std::uint8_t* w = tile.weight.blocks.data() + output / kLanes * kLanes * stride + output % kLanes * kDepth;
  Pairs sums[2 * kRows] = {};
  for (std::int64_t k = 0; k < stride / kDepth; ++k, w += kLanes * kDepth) {
    const auto weights = [&](std::int64_t four) {
      return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w + four * 16)));
    };
    const __m256i low = weights(0), high = weights(1);
    const auto add = [&](Pairs& to_low, Pairs& to_high, std::int64_t r) {
      std::int64_t four;
      std::memcpy(&four, a + r * stride + k * kDepth, sizeof four);
      const __m256i x = _mm256_set1_epi64x(four);
      to_low += reinterpret_cast<Pairs>(_mm256_madd_epi16(x, low));
      to_high += reinterpret_cast<Pairs>(_mm256_madd_epi16(x, high));
    };
    (add(sums[2 * I], sums[2 * I + 1], static_cast<std::int64_t>(I)), ...);
  }
  const std::int64_t outputs = tile.weight.outputs;
  const auto finish_row = [&](Pairs low, Pairs high, std::int64_t r) {
    // Outputs 0 1 4 5 2 3 6 7, then in order.
    const __m256i added = _mm256_hadd_epi32(reinterpret_cast<__m256i>(low), reinterpret_cast<__m256i>(high));
    const auto sum = reinterpret_cast<Pairs>(_mm256_permute4x64_epi64(added, _MM_SHUFFLE(3, 1, 2, 0)));
    if (outputs - output >= kHalf) {
      const __m256 scale =
          _mm256_mul_ps(_mm256_set1_ps(tile.q.scales[r]), _mm256_loadu_ps(tile.weight.scales.data() + output));
      const __m256 bias = tile.bias ? _mm256_loadu_ps(tile.bias + output) : _mm256_setzero_ps();
      const auto integers = reinterpret_cast<__m256i>(sum - tile.q.sums[r]);
      __m256 y = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(integers), scale), bias);
      if (tile.relu) y = _mm256_max_ps(_mm256_setzero_ps(), y);  // the second where one is NaN
      return _mm256_storeu_ps(tile.y + r * outputs + output, y);
    }
    for (std::int64_t lane = 0; lane < std::min(kHalf, outputs - output); ++lane) {
      const std::int64_t o = output + lane;
      tile.y[r * outputs + o] = finish(sum[lane], tile.q.sums[r], tile.q.scales[r], tile.weight.scales[o],
                                       tile.bias ? tile.bias[o] : 0, tile.relu);
    }
  };
  (finish_row(sums[2 * I], sums[2 * I + 1], row + static_cast<std::int64_t>(I)), ...);
}

template <int kRows>
void rows_avx2(const Tile& tile, const std::int16_t* a, std::int64_t row, std::int64_t rows) {
  if constexpr (kRows > 0) {
    if (rows < kRows) return rows_avx2<kRows - 1>(tile, a, row, rows);
    for (std::int64_t output = 0; output < tile.weight.outputs; output += kHalf) {
      tile_avx2<kRows>(tile, a, row, output, std::make_index_sequence<kRows>());
    }
  }
}

void linear_avx2(const QuantisedRows& q, std::int64_t rows, const Int8Weight& weight, const float* bias, bool relu,
                 float* y) {
  const std::vector<std::int16_t> widened(q.values.get(), q.values.get() + rows * q.stride);
  const Tile tile{q, weight, bias, relu, y};
  for (std::int64_t r = 0; r < rows; r += 6) rows_avx2<6>(tile, widened.data() + r * q.stride, r, rows - r);
}
#pragma GCC pop_options
#endif

}  // namespace

Int8Kernel best_int8_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return Int8Kernel::vnni;
  }
  if (__builtin_cpu_supports("avx2")) return Int8Kernel::avx2;
#endif
  return Int8Kernel::plain;
}

Int8Weight pack_int8(const float* weight, std::int64_t outputs, std::int64_t inputs) {
  Int8Weight packed{.outputs = outputs, .inputs = inputs, .blocks = {}, .scales = {}};
  const std::int64_t stride = round_up(inputs, kDepth);
  packed.blocks.assign(round_up(outputs, kLanes) * stride, 128);
  packed.scales.assign(round_up(outputs, kLanes), 0.0F);
  for (std::int64_t o = 0; o < outputs; ++o) {
    const float* row = weight + o * inputs;
    const float largest = largest_magnitude(row, inputs);
    packed.scales[o] = largest / 127.0F;
    const float inverse = largest > 0 ? 127.0F / largest : 0.0F;
    std::uint8_t* block = packed.blocks.data() + o / kLanes * kLanes * stride;
    for (std::int64_t i = 0; i < inputs; ++i) {
      const auto value = static_cast<std::int32_t>(std::nearbyintf(row[i] * inverse));
      block[(i / kDepth * kLanes + o % kLanes) * kDepth + i % kDepth] = static_cast<std::uint8_t>(value + 128);
    }
  }
  return packed;
}

void int8_linear(const float* x, std::int64_t rows, const Int8Weight& weight, const float* bias, bool relu, float* y,
                 Int8Kernel kernel) {
  const QuantisedRows q = quantise(x, rows, weight.inputs);
#if defined(__x86_64__)
  if (kernel == Int8Kernel::vnni) return linear_vnni(q, rows, weight, bias, relu, y);
  if (kernel == Int8Kernel::avx2) return linear_avx2(q, rows, weight, bias, relu, y);
#endif
  linear_plain(q, rows, weight, bias, relu, y);
}

}  // namespace attend::ops
