// Plain loops that the compiler vectorises; sums and functions are fp32 whatever the rows are. The exponential is
// 2^n p(f) with Cephes' polynomial (Moshier, exp2f), the hyperbolic tangent near zero Cephes' too: both within about
// 1e-6 relative.
#include "models/ops/recurrent_kernels.hpp"

#include <bit>
#include <type_traits>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ATTEND_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ATTEND_CLONES
#endif
#define ATTEND_INLINE inline __attribute__((always_inline))

namespace attend::ops::kernels {
namespace {

ATTEND_INLINE float load(float x) { return x; }
ATTEND_INLINE float load(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }
ATTEND_INLINE void store(float& to, float x) { to = x; }
ATTEND_INLINE void store(Bf16& to, float x) {  // to the nearest, ties to even
  const auto bits = std::bit_cast<std::uint32_t>(x);
  to.bits = static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

ATTEND_INLINE float exponential(float x) {
  float y = x * 1.44269504f;
  y = y < -126.0f ? -126.0f : y;
  y = y > 126.0f ? 126.0f : y;
  const auto n = static_cast<std::int32_t>(y + (y < 0 ? -0.5f : 0.5f));
  const float f = y - static_cast<float>(n);
  float p = 1.535336188319500e-4f;
  p = p * f + 1.339887440266574e-3f;
  p = p * f + 9.618437357674640e-3f;
  p = p * f + 5.550332471162809e-2f;
  p = p * f + 2.402264791363012e-1f;
  p = p * f + 6.931472028550421e-1f;
  p = p * f + 1.0f;
  return p * std::bit_cast<float>((n + 127) << 23);
}

ATTEND_INLINE float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }

ATTEND_INLINE float hyperbolic_tangent(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = p * z * x + x;
  const float far = 1.0f - 2.0f / (exponential(2.0f * x) + 1.0f);
  // Bits are chosen, not values: a branch here would keep loops from being vectorised.
  const std::uint32_t is_near = z < 0.390625f ? ~std::uint32_t{0} : 0;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(near) & is_near) |
                              (std::bit_cast<std::uint32_t>(far) & ~is_near));
}

template <class T>
ATTEND_INLINE float dot(const T* a, const T* b, std::int64_t width) {
  float sum = 0;
  for (std::int64_t j = 0; j < width; ++j) sum += load(a[j]) * load(b[j]);
  return sum;
}

template <class T>
ATTEND_INLINE void cell_forward_rows(const CellForward<T>& step, std::int64_t begin, std::int64_t end) {
  const std::int64_t H = step.width;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* input = step.input.row(row);
    const T* product = step.product.data != nullptr ? step.product.row(row) : nullptr;
    T* gates = step.gates.row(row);
    const float* before = step.cell_before.data != nullptr ? step.cell_before.row(row) : nullptr;
    float* cell = step.cell.row(row);
    T* hidden = step.hidden.row(row);
    const auto cells = [&](auto has_product, auto has_before) __attribute__((always_inline)) {
#pragma GCC ivdep
      for (std::int64_t j = 0; j < H; ++j) {
        const auto gate = [&](std::int64_t k) __attribute__((always_inline)) {
          return load(input[k * H + j]) + (has_product ? load(product[k * H + j]) : 0.0f);
        };
        const float i = sigmoid(gate(0)), f = sigmoid(gate(1)), g = hyperbolic_tangent(gate(2)), o = sigmoid(gate(3));
        const float c = (has_before ? f * before[j] : 0.0f) + i * g;
        store(gates[j], i);
        store(gates[H + j], f);
        store(gates[2 * H + j], g);
        store(gates[3 * H + j], o);
        cell[j] = c;
        store(hidden[j], o * hyperbolic_tangent(c));
      }
    };
    using Yes = std::true_type;
    using No = std::false_type;
    if (product != nullptr && before != nullptr)
      cells(Yes{}, Yes{});
    else if (product != nullptr)
      cells(Yes{}, No{});
    else if (before != nullptr)
      cells(No{}, Yes{});
    else
      cells(No{}, No{});
  }
}

template <class T>
ATTEND_INLINE void cell_backward_rows(const CellBackward<T>& step, std::int64_t begin, std::int64_t end) {
  const std::int64_t H = step.width;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* gates = step.gates.row(row);
    const float* before = step.cell_before.data != nullptr ? step.cell_before.row(row) : nullptr;
    const float* cell = step.cell.row(row);
    const float* dh = step.hidden_gradient.row(row);
    float* dc = step.cell_gradient.row(row);
    T* dgates = step.gate_gradient.row(row);
    const auto cells = [&](auto has_before) __attribute__((always_inline)) {
#pragma GCC ivdep
      for (std::int64_t j = 0; j < H; ++j) {
        const float i = load(gates[j]), f = load(gates[H + j]), g = load(gates[2 * H + j]), o = load(gates[3 * H + j]);
        const float tanh_c = hyperbolic_tangent(cell[j]);
        const float dcell = dc[j] + dh[j] * o * (1.0f - tanh_c * tanh_c);
        store(dgates[j], dcell * g * i * (1.0f - i));
        store(dgates[H + j], has_before ? dcell * before[j] * f * (1.0f - f) : 0.0f);
        store(dgates[2 * H + j], dcell * i * (1.0f - g * g));
        store(dgates[3 * H + j], dh[j] * tanh_c * o * (1.0f - o));
        dc[j] = dcell * f;
      }
    };
    if (before != nullptr)
      cells(std::true_type{});
    else
      cells(std::false_type{});
  }
}

// f(j, what element j of ragged row `row` is multiplied by) for every column.
template <class F>
ATTEND_INLINE void for_columns(std::int64_t width, const RowDropout& dropout, const std::int64_t* rows, std::int64_t i,
                               const F& f) {
  if (!dropout.active) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < width; ++j) f(j, 1.0f);
    return;
  }
  const DropoutMask mask = dropout.mask;
  const auto first = static_cast<std::uint32_t>(rows[i] * dropout.width + dropout.column);
#pragma GCC ivdep
  for (std::int64_t j = 0; j < width; ++j) f(j, mask(first + static_cast<std::uint32_t>(j)));
}

template <class From, class To>
ATTEND_INLINE void copy_each_row(const CopyRows<From, To>& copy, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const From* from = copy.from.row(copy.from_index != nullptr ? copy.from_index[i] : i);
    To* to = copy.to.row(copy.to_index != nullptr ? copy.to_index[i] : i);
    if (copy.add) {
      for_columns(
          copy.width, copy.dropout, copy.rows, i, [&](std::int64_t j, float kept) __attribute__((always_inline)) {
            store(to[j], load(to[j]) + load(from[j]) * kept);
          });
    } else {
      for_columns(
          copy.width, copy.dropout, copy.rows,
          i, [&](std::int64_t j, float kept) __attribute__((always_inline)) { store(to[j], load(from[j]) * kept); });
    }
  }
}

constexpr std::int64_t kBlock = 64;  // columns that are summed in registers over the tokens of a sentence

// sums(j0, n, Σ_s factors[s] vectors[s][j0 … j0 + n)) block by block; row(s) is the s-th vector.
template <class RowOf, class Sums>
ATTEND_INLINE void weighted_sum(std::int64_t width, std::int64_t tokens, const float* factors, std::int64_t stride,
                                const RowOf& row, const Sums& sums) {
  for (std::int64_t first = 0; first < width; first += kBlock) {
    const std::int64_t n = width - first < kBlock ? width - first : kBlock;
    float sum[kBlock] = {};
    if (n == kBlock) {
      for (std::int64_t s = 0; s < tokens; ++s) {
        const auto* vector = row(s) + first;
        const float factor = factors[s * stride];
        for (std::int64_t j = 0; j < kBlock; ++j) sum[j] += factor * load(vector[j]);
      }
    } else {
      for (std::int64_t s = 0; s < tokens; ++s) {
        const auto* vector = row(s) + first;
        const float factor = factors[s * stride];
        for (std::int64_t j = 0; j < n; ++j) sum[j] += factor * load(vector[j]);
      }
    }
    sums(first, n, sum);
  }
}

template <class T>
ATTEND_INLINE void attend_rows(const Attend<T>& step, std::int64_t begin, std::int64_t end) {
  const std::int64_t H = step.width, V = step.value_width;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t first = step.offsets[step.sentences[i]];
    const std::int64_t tokens = step.offsets[step.sentences[i] + 1] - first;
    const T* query = step.query.row(i);
    const T* keys = step.keys + first * H;
    const T* values = step.values + first * V;
    float* weights = step.weights + step.first_weight[i];
    float largest = tokens > 0 ? dot(query, keys, H) : 0.0f;
    for (std::int64_t s = 0; s < tokens; ++s) {
      weights[s] = dot(query, keys + s * H, H);
      largest = weights[s] > largest ? weights[s] : largest;
    }
    float total = 0;
    for (std::int64_t s = 0; s < tokens; ++s) {
      weights[s] = exponential(weights[s] - largest);
      total += weights[s];
    }
    for (std::int64_t s = 0; s < tokens; ++s) weights[s] /= total;
    T* context = step.context.row(i);
    weighted_sum(
        V, tokens, weights, 1, [&](std::int64_t s) __attribute__((always_inline)) { return values + s * V; },
        [&](std::int64_t from, std::int64_t n, const float* sum) __attribute__((always_inline)) {
          RowDropout dropout = step.dropout;
          dropout.column += from;
          for_columns(
              n, dropout, step.rows, i, [&](std::int64_t j, float kept) __attribute__((always_inline)) {
                store(context[from + j], sum[j] * kept);
              });
        });
  }
}

template <class T>
ATTEND_INLINE void attend_backward_rows(const AttendBackward<T>& step, std::int64_t begin, std::int64_t end) {
  const std::int64_t H = step.width, V = step.value_width;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t first = step.offsets[step.sentences[i]];
    const std::int64_t tokens = step.offsets[step.sentences[i] + 1] - first;
    const T* keys = step.keys + first * H;
    const T* values = step.values + first * V;
    const float* weights = step.weights + step.first_weight[i];
    float* gradients = step.score_gradients + step.first_weight[i];
    const T* context_gradient = step.context_gradient.row(i);
    float mean = 0;
    for (std::int64_t s = 0; s < tokens; ++s) {
      gradients[s] = dot(context_gradient, values + s * V, V);
      mean += weights[s] * gradients[s];
    }
    for (std::int64_t s = 0; s < tokens; ++s) gradients[s] = weights[s] * (gradients[s] - mean);
    float* query_gradient = step.query_gradient.row(i);
    weighted_sum(
        H, tokens, gradients, 1, [&](std::int64_t s) __attribute__((always_inline)) { return keys + s * H; },
        [&](std::int64_t from, std::int64_t n, const float* sum) __attribute__((always_inline)) {
          for (std::int64_t j = 0; j < n; ++j) query_gradient[from + j] += sum[j];
        });
  }
}

template <class T>
ATTEND_INLINE void memory_backward_sentences(const MemoryBackward<T>& memory, std::int64_t begin, std::int64_t end) {
  for (std::int64_t b = begin; b < end; ++b) {
    const std::int64_t tokens = memory.offsets[b + 1] - memory.offsets[b];
    const std::int64_t steps = memory.tgt_offsets[b + 1] - memory.tgt_offsets[b];
    const std::int64_t* packed = memory.packed_rows + memory.tgt_offsets[b];
    // The weights of a sentence's steps lie one after another.
    const float* factors = steps > 0 ? memory.factors + memory.first_weight[packed[0]] : nullptr;
    for (std::int64_t s = 0; s < tokens; ++s) {
      T* gradient = memory.gradient.row(memory.offsets[b] + s);
      weighted_sum(
          memory.width, steps, factors + s,
          tokens, [&](std::int64_t t) __attribute__((always_inline)) { return memory.vectors.row(packed[t]); },
          [&](std::int64_t from, std::int64_t n, const float* sum) __attribute__((always_inline)) {
            for (std::int64_t j = 0; j < n; ++j) store(gradient[from + j], sum[j]);
          });
    }
  }
}

template <class T>
ATTEND_INLINE void tanh_each_row(const Tanh<T>& step, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const T* from = step.from.row(i);
    T* to = step.to.row(step.to_index[i]);
#pragma GCC ivdep
    for (std::int64_t j = 0; j < step.width; ++j) store(to[j], hyperbolic_tangent(load(from[j])));
  }
}

template <class T>
ATTEND_INLINE void tanh_backward_rows(const TanhBackward<T>& step, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float* gradient = step.gradient.row(i);
    const T* result = step.result.row(step.result_index[i]);
    T* to = step.to.row(i);
#pragma GCC ivdep
    for (std::int64_t j = 0; j < step.width; ++j) {
      const float y = load(result[j]);
      store(to[j], gradient[j] * (1.0f - y * y));
    }
  }
}

}  // namespace

// A clone is a plain function, so each element type has its own.
#define ATTEND_KERNEL(name, body, Arguments) \
  ATTEND_CLONES void name(const Arguments& step, std::int64_t begin, std::int64_t end) { body(step, begin, end); }

ATTEND_KERNEL(cell_forward, cell_forward_rows, CellForward<float>)
ATTEND_KERNEL(cell_forward, cell_forward_rows, CellForward<Bf16>)
ATTEND_KERNEL(cell_backward, cell_backward_rows, CellBackward<float>)
ATTEND_KERNEL(cell_backward, cell_backward_rows, CellBackward<Bf16>)
using CopyFloat = CopyRows<float, float>;
using CopyBf16 = CopyRows<Bf16, Bf16>;
using CopyWiden = CopyRows<Bf16, float>;
ATTEND_KERNEL(copy_rows, copy_each_row, CopyFloat)
ATTEND_KERNEL(copy_rows, copy_each_row, CopyBf16)
ATTEND_KERNEL(copy_rows, copy_each_row, CopyWiden)
ATTEND_KERNEL(attend, attend_rows, Attend<float>)
ATTEND_KERNEL(attend, attend_rows, Attend<Bf16>)
ATTEND_KERNEL(attend_backward, attend_backward_rows, AttendBackward<float>)
ATTEND_KERNEL(attend_backward, attend_backward_rows, AttendBackward<Bf16>)
ATTEND_KERNEL(memory_backward, memory_backward_sentences, MemoryBackward<float>)
ATTEND_KERNEL(memory_backward, memory_backward_sentences, MemoryBackward<Bf16>)
ATTEND_KERNEL(tanh_rows, tanh_each_row, Tanh<float>)
ATTEND_KERNEL(tanh_rows, tanh_each_row, Tanh<Bf16>)
ATTEND_KERNEL(tanh_backward, tanh_backward_rows, TanhBackward<float>)
ATTEND_KERNEL(tanh_backward, tanh_backward_rows, TanhBackward<Bf16>)

}  // namespace attend::ops::kernels
