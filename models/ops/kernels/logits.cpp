#include "models/ops/kernels/packed.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace attend::ops::kernels {
namespace {

constexpr std::int64_t kPanel = 16;  // outputs per block: the fp32 lanes of one register

}  // namespace

Bf16Panels make_panels(const Bf16* weight, std::int64_t outputs, std::int64_t inputs) {
  Bf16Panels panels{.outputs = outputs, .inputs = inputs, .numbers = {}};
  const std::int64_t pairs = (inputs + 1) / 2;
  panels.numbers.resize((outputs + kPanel - 1) / kPanel * kPanel * pairs * 2);
  for (std::int64_t o = 0; o < outputs; ++o) {
    Bf16* to = panels.numbers.data() + o / kPanel * kPanel * pairs * 2 + o % kPanel * 2;
    const Bf16* row = weight + o * inputs;
    std::int64_t i = 0;
    for (; i + 1 < inputs; i += 2) std::memcpy(to + i * kPanel, row + i, 2 * sizeof(Bf16));
    if (i < inputs) to[i * kPanel] = row[i];
  }
  return panels;
}

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512bf16")
namespace {

using Sums = float __attribute__((vector_size(64)));

// kRows rows by kPanels panels, kept in registers over all inputs. `sums` has constant indices and its own vector type,
// as in int8.cpp.
template <int kRows, int kPanels, std::size_t... I>
void tile(const LogitsProduct& p, std::int64_t row, std::int64_t output, std::index_sequence<I...>) {
  const std::int64_t inputs = p.weight.inputs, pairs = (inputs + 1) / 2;
  const Bf16* a = p.x + row * inputs;
  const Bf16* w = p.weight.numbers.data() + output * pairs * 2;
  Sums sums[sizeof...(I)] = {};
  const auto add = [&](std::int64_t k, const auto& pair_of) __attribute__((always_inline)) {
    const auto weights = [&](std::size_t panel) __attribute__((always_inline)) {
      return _mm512_loadu_si512(w + (static_cast<std::int64_t>(panel) * pairs + k) * 2 * kPanel);
    };
    ((sums[I] = reinterpret_cast<Sums>(
          _mm512_dpbf16_ps(reinterpret_cast<__m512>(sums[I]), reinterpret_cast<__m512bh>(weights(I % kPanels)),
                           reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair_of(I / kPanels)))))),
     ...);
  };
  std::int64_t k = 0;
  for (; 2 * k + 1 < inputs; ++k) {
    add(
        k, [&](std::size_t r) __attribute__((always_inline)) {
          std::int32_t pair;
          std::memcpy(&pair, a + static_cast<std::int64_t>(r) * inputs + 2 * k, sizeof pair);
          return pair;
        });
  }
  if (2 * k < inputs) {
    add(
        k, [&](std::size_t r) __attribute__((always_inline)) {
          return static_cast<std::int32_t>(a[static_cast<std::int64_t>(r) * inputs + 2 * k].bits);
        });
  }
  const std::int64_t outputs = p.weight.outputs;
  const auto finish = [&](__m512 sum, std::int64_t r, std::int64_t o) __attribute__((always_inline)) {
    const auto mask = static_cast<__mmask16>((1U << std::min(kPanel, outputs - o)) - 1);
    if (p.bias != nullptr) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, p.bias + o));
    _mm512_mask_storeu_ps(p.y + r * outputs + o, mask, sum);
  };
  (finish(reinterpret_cast<__m512>(sums[I]), row + static_cast<std::int64_t>(I) / kPanels,
          output + static_cast<std::int64_t>(I) % kPanels * kPanel),
   ...);
}

template <int kPanels>
void all_rows(const LogitsProduct& p, std::int64_t output) {
  for (std::int64_t row = 0; row < p.rows; row += 6) {
    with_count<6>(p.rows - row, [&](auto count) {
      tile<count, kPanels>(p, row, output, std::make_index_sequence<count * kPanels>());
    });
  }
}

}  // namespace

void multiply(const LogitsProduct& p, std::int64_t begin, std::int64_t end) {
  const std::int64_t last = std::min(end * Bf16Panels::kGroup, p.weight.outputs);
  std::int64_t output = begin * Bf16Panels::kGroup;
  for (; output + 3 * kPanel < last; output += 4 * kPanel) all_rows<4>(p, output);
  for (; output < last; output += kPanel) all_rows<1>(p, output);
}
#pragma GCC pop_options
#else
void multiply(const LogitsProduct&, std::int64_t, std::int64_t) { __builtin_unreachable(); }
#endif

}  // namespace attend::ops::kernels
