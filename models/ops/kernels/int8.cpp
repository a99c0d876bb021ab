#include "models/ops/kernels/packed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace attend::ops::kernels {
namespace {

constexpr std::int64_t kOutputs = 16;  // outputs per block: the 32-bit lanes of one register
constexpr std::int64_t kGroup = Int8Weight::kGroup;
constexpr std::int64_t kDepth = 4;  // inputs per block: the bytes of one lane

}  // namespace
}  // namespace attend::ops::kernels

#define ATTEND_LOOPS "models/ops/kernels/int8_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The factor that maps numbers up to `largest` to integers; 0 if it would overflow, for numbers too small to matter in
// fp32.
float inverse_scale(float largest) { return largest > 1e-36F ? 127.0F / largest : 0.0F; }

// Activations quantised to integers, row by row, padded with zeros to whole blocks.
struct QuantisedRows {
  std::int64_t stride = 0;
  std::unique_ptr<std::int8_t[]> values;
  std::unique_ptr<float[]> scales;       // x = scale * integer
  std::unique_ptr<std::int32_t[]> sums;  // 128 times the sum of each row
};

QuantisedRows quantise(const float* x, std::int64_t rows, std::int64_t inputs) {
  QuantisedRows q;
  q.stride = round_up(inputs, kDepth);
  q.values = std::make_unique_for_overwrite<std::int8_t[]>(rows * q.stride);
  q.scales = std::make_unique_for_overwrite<float[]>(rows);
  q.sums = std::make_unique_for_overwrite<std::int32_t[]>(rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    float largest = 0;
    ATTEND_CALL(largest_magnitude(x + r * inputs, inputs, largest));
    // An infinite or NaN row stays visible: its scale makes every product NaN.
    const bool finite = std::isfinite(largest);
    const float inverse = finite ? inverse_scale(largest) : 0.0F;
    std::int8_t* values = q.values.get() + r * q.stride;
    ATTEND_CALL(quantise_row(x + r * inputs, finite ? inputs : 0, inverse, values, q.sums[r]));
    std::fill(values + (finite ? inputs : 0), values + q.stride, std::int8_t{0});
    q.scales[r] = finite ? largest / 127.0F : std::nanf("");
  }
  return q;
}

// Computes a result from its integer sum.
inline float finish(std::int32_t sum, std::int32_t row_sum, float scale, float weight_scale, float bias, bool relu) {
  const float y = static_cast<float>(sum - row_sum) * (scale * weight_scale) + bias;
  return relu && y < 0 ? 0.0F : y;
}

void linear_plain(const QuantisedRows& q, const Int8Product& p, std::int64_t begin, std::int64_t end) {
  const std::int64_t depth_blocks = q.stride / kDepth, outputs = p.weight.outputs;
  for (std::int64_t block = begin; block < end; block += kOutputs) {
    const std::uint8_t* w = p.weight.blocks.data() + block * q.stride;
    for (std::int64_t r = 0; r < p.rows; ++r) {
      std::int32_t sums[kOutputs] = {};
      ATTEND_CALL(block_plain(q.values.get() + r * q.stride, w, depth_blocks, sums));
      for (std::int64_t o = block; o < std::min(block + kOutputs, outputs); ++o) {
        p.y[r * outputs + o] =
            finish(sums[o - block], q.sums[r], q.scales[r], p.weight.scales[o], p.bias ? p.bias[o] : 0, p.relu);
      }
    }
  }
}

#if defined(__x86_64__)

struct Tile {  // the work of a kernel call: some rows of x and some blocks of outputs
  const QuantisedRows& q;
  const Int8Product& product;
};

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vnni")

using Lanes = std::int32_t __attribute__((vector_size(64)));

// kRows rows by kBlocks blocks of 16 outputs, kept in registers over the whole depth. `sums` has constant indices (a
// fold, not a loop) and its own vector type: GCC 12 would spill an array indexed by a loop, or of __m512i.
template <int kRows, int kBlocks, std::size_t... I>
void tile_vnni(const Tile& tile, std::int64_t row, std::int64_t output, std::index_sequence<I...>) {
  const std::int64_t stride = tile.q.stride;
  const std::int64_t depth_blocks = stride / kDepth;
  const std::int8_t* a = tile.q.values.get() + row * stride;
  const std::uint8_t* w = tile.product.weight.blocks.data() + output * stride;
  const auto activations = [&](std::size_t r, std::int64_t k) {
    std::int32_t four;
    std::memcpy(&four, a + static_cast<std::int64_t>(r) * stride + k * kDepth, sizeof four);
    return _mm512_set1_epi32(four);
  };
  const auto weights = [&](std::size_t b, std::int64_t k) {
    return _mm512_loadu_si512(w + static_cast<std::int64_t>(b) * kOutputs * stride + k * kOutputs * kDepth);
  };
  Lanes sums[sizeof...(I)] = {};
  for (std::int64_t k = 0; k < depth_blocks; ++k) {
    ((sums[I] = reinterpret_cast<Lanes>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums[I]), weights(I % kBlocks, k),
                                                            activations(I / kBlocks, k)))),
     ...);
  }
  const std::int64_t outputs = tile.product.weight.outputs;
  const auto finish_lanes = [&](__m512i sum, std::int64_t r, std::int64_t o) {
    const std::int64_t lanes = std::min(kOutputs, outputs - o);
    const auto mask = static_cast<__mmask16>((1U << lanes) - 1);
    const __m512 bias = tile.product.bias ? _mm512_maskz_loadu_ps(mask, tile.product.bias + o) : _mm512_setzero_ps();
    const __m512 scale =
        _mm512_mul_ps(_mm512_set1_ps(tile.q.scales[r]), _mm512_loadu_ps(tile.product.weight.scales.data() + o));
    sum = _mm512_sub_epi32(sum, _mm512_set1_epi32(tile.q.sums[r]));
    // Multiply and add with two roundings, as the plain loop does.
    __m512 y = _mm512_add_ps(_mm512_mul_ps(_mm512_maskz_cvtepi32_ps(0xffff, sum), scale), bias);
    if (tile.product.relu)
      y = _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(y, _mm512_setzero_ps(), _CMP_LT_OQ), _mm512_setzero_ps());
    _mm512_mask_storeu_ps(tile.product.y + r * outputs + o, mask, y);
  };
  (finish_lanes(reinterpret_cast<__m512i>(sums[I]), row + static_cast<std::int64_t>(I) / kBlocks,
                output + static_cast<std::int64_t>(I) % kBlocks * kOutputs),
   ...);
}

template <int kBlocks>
void rows_vnni(const Tile& tile, std::int64_t rows, std::int64_t output) {
  for (std::int64_t row = 0; row < rows; row += 6) {
    with_count<6>(rows - row, [&](auto count) {
      tile_vnni<count, kBlocks>(tile, row, output, std::make_index_sequence<count * kBlocks>());
    });
  }
}

void linear_vnni(const QuantisedRows& q, const Int8Product& p, std::int64_t begin, std::int64_t end) {
  const Tile tile{q, p};
  std::int64_t output = begin;
  for (; output + 4 * kOutputs <= end; output += 4 * kOutputs) rows_vnni<4>(tile, p.rows, output);
  for (; output < end; output += kOutputs) rows_vnni<1>(tile, p.rows, output);
}
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2")

// Without VNNI, bytes are widened to 16 bits and multiplied in pairs: a register of sums holds four outputs, each split
// into the sum over inputs 0 and 1 of every block and the sum over inputs 2 and 3.
constexpr std::int64_t kHalf = kOutputs / 2;  // outputs per tile: two registers of sums per row
using Pairs = std::int32_t __attribute__((vector_size(32)));

// kRows widened rows by 8 outputs; `a` points to the first row.
template <int kRows, std::size_t... I>
void tile_avx2(const Tile& tile, const std::int16_t* a, std::int64_t row, std::int64_t output,
               std::index_sequence<I...>) {
  const std::int64_t stride = tile.q.stride;
  const std::uint8_t* w =
      tile.product.weight.blocks.data() + output / kOutputs * kOutputs * stride + output % kOutputs * kDepth;
  Pairs sums[2 * kRows] = {};
  for (std::int64_t k = 0; k < stride / kDepth; ++k, w += kOutputs * kDepth) {
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
  const std::int64_t outputs = tile.product.weight.outputs;
  const auto finish_row = [&](Pairs low, Pairs high, std::int64_t r) {
    // The order of outputs is 0 1 4 5 2 3 6 7; it is restored next.
    const __m256i added = _mm256_hadd_epi32(reinterpret_cast<__m256i>(low), reinterpret_cast<__m256i>(high));
    const auto sum = reinterpret_cast<Pairs>(_mm256_permute4x64_epi64(added, _MM_SHUFFLE(3, 1, 2, 0)));
    if (outputs - output >= kHalf) {
      const __m256 scale =
          _mm256_mul_ps(_mm256_set1_ps(tile.q.scales[r]), _mm256_loadu_ps(tile.product.weight.scales.data() + output));
      const __m256 bias = tile.product.bias ? _mm256_loadu_ps(tile.product.bias + output) : _mm256_setzero_ps();
      const auto integers = reinterpret_cast<__m256i>(sum - tile.q.sums[r]);
      __m256 y = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(integers), scale), bias);
      if (tile.product.relu) y = _mm256_max_ps(_mm256_setzero_ps(), y);  // returns its second operand if one is NaN
      return _mm256_storeu_ps(tile.product.y + r * outputs + output, y);
    }
    for (std::int64_t lane = 0; lane < std::min(kHalf, outputs - output); ++lane) {
      const std::int64_t o = output + lane;
      tile.product.y[r * outputs + o] =
          finish(sum[lane], tile.q.sums[r], tile.q.scales[r], tile.product.weight.scales[o],
                 tile.product.bias ? tile.product.bias[o] : 0, tile.product.relu);
    }
  };
  (finish_row(sums[2 * I], sums[2 * I + 1], row + static_cast<std::int64_t>(I)), ...);
}

void linear_avx2(const QuantisedRows& q, const Int8Product& p, std::int64_t begin, std::int64_t end) {
  const std::vector<std::int16_t> widened(q.values.get(), q.values.get() + p.rows * q.stride);
  const Tile tile{q, p};
  for (std::int64_t row = 0; row < p.rows; row += 6) {
    with_count<6>(p.rows - row, [&](auto count) {
      for (std::int64_t output = begin; output < std::min(end, p.weight.outputs); output += kHalf) {
        tile_avx2<count>(tile, widened.data() + row * q.stride, row, output, std::make_index_sequence<count>());
      }
    });
  }
}
#pragma GCC pop_options
#endif

}  // namespace

Int8Kernel best_int8_kernel() {
#if defined(__x86_64__)
  if (cpu_level() >= 4 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return Int8Kernel::vnni;
  }
  if (cpu_level() >= 3) return Int8Kernel::avx2;
#endif
  return Int8Kernel::plain;
}

Int8Weight pack_int8(const float* weight, std::int64_t outputs, std::int64_t inputs) {
  Int8Weight packed{.outputs = outputs, .inputs = inputs, .blocks = {}, .scales = {}};
  const std::int64_t stride = round_up(inputs, kDepth);
  packed.blocks.assign(round_up(outputs, kOutputs) * stride, 128);
  packed.scales.assign(round_up(outputs, kOutputs), 0.0F);
  for (std::int64_t o = 0; o < outputs; ++o) {
    const float* row = weight + o * inputs;
    float largest = 0;
    ATTEND_CALL(largest_magnitude(row, inputs, largest));
    packed.scales[o] = largest / 127.0F;
    const float inverse = inverse_scale(largest);
    std::uint8_t* block = packed.blocks.data() + o / kOutputs * kOutputs * stride;
    for (std::int64_t i = 0; i < inputs; ++i) {
      const auto value = static_cast<std::int32_t>(std::nearbyintf(row[i] * inverse));
      block[(i / kDepth * kOutputs + o % kOutputs) * kDepth + i % kDepth] = static_cast<std::uint8_t>(value + 128);
    }
  }
  return packed;
}

void multiply(const Int8Product& p, std::int64_t begin, std::int64_t end, Int8Kernel kernel) {
  const QuantisedRows q = quantise(p.x, p.rows, p.weight.inputs);
  begin *= kGroup, end = std::min(end * kGroup, round_up(p.weight.outputs, kOutputs));
#if defined(__x86_64__)
  if (kernel == Int8Kernel::vnni) return linear_vnni(q, p, begin, end);
  if (kernel == Int8Kernel::avx2) return linear_avx2(q, p, begin, end);
#endif
  linear_plain(q, p, begin, end);
}

}  // namespace attend::ops::kernels
