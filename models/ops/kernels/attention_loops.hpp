// The loops of attention.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

// The part of a matrix product that causal attention needs.
enum class Part {
  whole,
  result_lower,  // of the result only columns <= row
  left_lower,    // the left factor is 0 where column > row
  left_upper,    // the left factor is 0 where column < row
};

// c = scale * a b: a [m, k] by element strides, b [k, n] with rows padded with zeros to whole vectors.
struct Factor {
  const float* data;
  std::int64_t row, column;
};
template <class T>
struct Product {
  Factor a;
  Rows<const float> b;
  Rows<T> c;
  std::int64_t m, n, k;
  float scale = 1;
  Part part = Part::whole;
};

// `rows` x `vectors` accumulators in registers at (row, column).
template <int rows, int vectors, class T>
ATTEND_INLINE void product_block(const Product<T>& p, std::int64_t row, std::int64_t column) {
  // Forced unrolling: accumulators stay in registers only if no loop indexes them.
  Floats c[rows][vectors] = {};
  const std::int64_t k_begin = p.part == Part::left_upper ? std::min(row, p.k) : 0;
  const std::int64_t k_end = p.part == Part::left_lower ? std::min(row + rows, p.k) : p.k;
  const float* a = p.a.data + row * p.a.row + k_begin * p.a.column;
  const float* b = p.b.row(k_begin) + column;
  for (std::int64_t k = k_begin; k < k_end; ++k, a += p.a.column, b += p.b.stride) {
    Floats b_row[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) b_row[j] = load(b + j * kLanes);
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
      const Floats a_element = all(a[i * p.a.row]);
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) c[i][j] += a_element * b_row[j];
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) {
      const std::int64_t at = column + j * kLanes;
      store(p.c.row(row + i) + at, c[i][j] * p.scale, p.n - at);
    }
  }
}

// 6 x 4 accumulators fill the 32 registers of AVX-512, 6 x 2 the 16 of earlier processors.
template <class T>
void product(const Product<T>& p) {
  for (std::int64_t row = 0; row < p.m; row += 6) {
    with_count<6>(p.m - row, [&](auto rows) {
      const std::int64_t n = p.part == Part::result_lower ? std::min(p.n, row + rows) : p.n;
      std::int64_t column = 0;
      for (; kLanes == 16 && column + 3 * kLanes < n; column += 4 * kLanes) product_block<rows, 4>(p, row, column);
      for (; column + kLanes < n; column += 2 * kLanes) product_block<rows, 2>(p, row, column);
      for (; column < n; column += kLanes) product_block<rows, 1>(p, row, column);
    });
  }
}

// One stage of transposing a square: swaps the off-diagonal blocks of every square of width 2 * distance.
template <int distance>
ATTEND_INLINE void transpose_stage(Floats (&x)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if (!(i & distance)) exchange<distance>(x[i], x[i + distance]);
  }
}

// Writes to [columns, padded(count)] = rowsᵀ, zero after the last row.
template <class T>
ATTEND_INLINE void transpose(Rows<const T> rows, std::int64_t count, std::int64_t columns, float* to) {
  const std::int64_t stride = padded(count);
  for (std::int64_t r = 0; r < stride; r += kLanes) {
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      Floats x[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        x[i] = r + i < count ? load(rows.data + (r + i) * rows.stride + c, columns - c) : Floats{};
      }
      if constexpr (kLanes >= 16) transpose_stage<8>(x);
      if constexpr (kLanes >= 8) transpose_stage<4>(x);
      transpose_stage<2>(x);
      transpose_stage<1>(x);
      for (int i = 0; i < kLanes && c + i < columns; ++i) store(to + (c + i) * stride + r, x[i]);
    }
  }
}

// Converts the rows to fp32, padded with zeros to whole vectors.
template <class T>
ATTEND_INLINE void widen(Rows<const T> rows, std::int64_t count, std::int64_t columns, float* to) {
  const std::int64_t stride = padded(columns);
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t c = 0; c < stride; c += kLanes) {
      store(to + r * stride + c, load(rows.data + r * rows.stride + c, columns - c));
    }
  }
}

// A work item: one head of one sentence.
struct Item {
  std::int64_t head, first_query, queries, first_key, keys, column;
  std::uint32_t first_index;  // index of its first weight for dropout
};

ATTEND_INLINE Item item_of(const AttentionLayout& a, std::int64_t number) {
  const std::int64_t b = number / a.heads, h = number % a.heads;
  return {.head = h,
          .first_query = a.query_offsets[b],
          .queries = a.query_offsets[b + 1] - a.query_offsets[b],
          .first_key = a.key_offsets[b],
          .keys = a.key_offsets[b + 1] - a.key_offsets[b],
          .column = h * a.head_size,
          .first_index = static_cast<std::uint32_t>(number * a.max_queries * a.max_keys)};
}

// The buffers of a thread, each large enough for the largest sentence.
class Scratch {
 public:
  Scratch(const AttentionLayout& a, int query_rows, int key_rows, int score_blocks)
      : query_size_(a.max_queries * padded(a.head_size)),
        key_size_(padded(a.max_keys) * padded(a.head_size)),
        score_size_(a.max_queries * padded(a.max_keys)),
        data_(new float[query_rows * query_size_ + key_rows * key_size_ + score_blocks * score_size_]),
        next_(data_.get()) {}
  float* query_rows() { return take(query_size_); }
  float* key_rows() { return take(key_size_); }
  float* scores() { return take(score_size_); }

 private:
  float* take(std::int64_t n) { return std::exchange(next_, next_ + n); }
  std::int64_t query_size_, key_size_, score_size_;
  std::unique_ptr<float[]> data_;
  float* next_;
};

// The biases of query t, or of their gradients, from key 0.
template <class F>
ATTEND_INLINE F* bias_row(const AttentionLayout& layout, F* bias, const Item& item, std::int64_t t) {
  const std::int64_t number = layout.numbers != nullptr ? layout.numbers[item.first_query + t] : t;
  return bias + item.head * layout.bias_stride - number;
}

// row += bias in the first n elements, and -infinity in the rest of their last vector.
ATTEND_INLINE void add_bias(const float* bias, std::int64_t n, float* row) {
  for (std::int64_t s = 0; s < n; s += kLanes) store(row + s, first(n - s, load(row + s) + load(bias + s), -INFINITY));
}

// Turns the scores of a row into weights: softmax over the first n of `keys`, exactly 0 after them.
ATTEND_INLINE void softmax(float* row, std::int64_t n, std::int64_t keys) {
  Floats top = load(row);
  top = first(n, top, -INFINITY);
  for (std::int64_t s = kLanes; s < n; s += kLanes) top = max(top, first(n - s, load(row + s), -INFINITY));
  const float most = largest(top);
  Floats total = {};
  for (std::int64_t s = 0; s < n; s += kLanes) {
    const Floats e = first(n - s, exp_or_zero(load(row + s) - most), 0);
    total += e;
    store(row + s, e);
  }
  const float normalise = 1 / sum(total);
  std::int64_t s = 0;
  for (; s < n; s += kLanes) store(row + s, load(row + s) * normalise);
  for (; s < padded(keys); s += kLanes) store(row + s, Floats{});
}

// Writes to [queries, padded(keys)] = scale * rows columns, where rows is [queries, padded(size)] and there is a column
// [size] for each of the keys.
ATTEND_INLINE void score(const AttentionLayout& layout, const Item& item, const float* rows, const float* columns,
                         float scale, float* to) {
  const std::int64_t stride = padded(item.keys);
  product(Product<float>{.a = {rows, padded(layout.head_size), 1},
                         .b = {columns, stride},
                         .c = {to, stride},
                         .m = item.queries,
                         .n = stride,
                         .k = layout.head_size,
                         .scale = scale,
                         .part = layout.causal ? Part::result_lower : Part::whole});
}

// The weights before dropout, [queries, padded(keys)], of q [queries, padded(size)] and k_transposed [size,
// padded(keys)].
ATTEND_INLINE void weigh(const AttentionLayout& layout, const Item& item, const float* q, const float* k_transposed,
                         float* weights) {
  score(layout, item, q, k_transposed, layout.scale, weights);
  const std::int64_t stride = padded(item.keys);
  for (std::int64_t t = 0; t < item.queries && item.keys > 0; ++t) {
    float* row = weights + t * stride;
    const std::int64_t seen = layout.causal ? t + 1 : item.keys;
    if (layout.bias != nullptr) add_bias(bias_row(layout, layout.bias, item, t), seen, row);
    softmax(row, seen, item.keys);
  }
}

template <class T>
void forward(const Attention<T>& a, std::int64_t begin, std::int64_t end) {
  const AttentionLayout& layout = a.layout;
  const std::int64_t size = layout.head_size, width = padded(size);
  Scratch scratch(layout, 1, 2, 1);
  float* q = scratch.query_rows();
  float* k_transposed = scratch.key_rows();
  float* v = scratch.key_rows();
  float* weights = scratch.scores();
  for (std::int64_t number = begin; number < end; ++number) {
    const Item item = item_of(layout, number);
    const std::int64_t stride = padded(item.keys);
    widen(a.q.from(item.first_query).columns(item.column), item.queries, size, q);
    transpose(a.k.from(item.first_key).columns(item.column), item.keys, size, k_transposed);
    widen(a.v.from(item.first_key).columns(item.column), item.keys, size, v);
    weigh(layout, item, q, k_transposed, weights);
    for (std::int64_t t = 0; t < item.queries && layout.mask.drops(); ++t) {
      float* row = weights + t * stride;
      const std::uint32_t index = item.first_index + static_cast<std::uint32_t>(t * layout.max_keys);
      for (std::int64_t s = 0; s < stride; s += kLanes) {
        store(row + s, load(row + s) * keep(layout.mask, index + static_cast<std::uint32_t>(s)));
      }
    }
    product(Product<T>{.a = {weights, stride, 1},
                       .b = {v, width},
                       .c = a.out.from(item.first_query).columns(item.column),
                       .m = item.queries,
                       .n = size,
                       .k = item.keys,
                       .part = layout.causal ? Part::left_lower : Part::whole});
  }
}

template <class T>
void backward(const AttentionBackward<T>& a, std::int64_t begin, std::int64_t end) {
  const AttentionLayout& layout = a.layout;
  const std::int64_t size = layout.head_size, width = padded(size);
  const Part lower = layout.causal ? Part::left_lower : Part::whole;
  const Part upper = layout.causal ? Part::left_upper : Part::whole;
  Scratch scratch(layout, 2, 3, 3);
  float* q = scratch.query_rows();
  float* dout = scratch.query_rows();
  float* k = scratch.key_rows();
  float* k_transposed = scratch.key_rows();
  float* v_transposed = scratch.key_rows();
  float* weights = scratch.scores();
  float* kept_weights = layout.mask.drops() ? scratch.scores() : weights;  // after dropout
  float* dscores = scratch.scores();
  for (std::int64_t number = begin; number < end; ++number) {
    const Item item = item_of(layout, number);
    const std::int64_t stride = padded(item.keys);
    widen(a.q.from(item.first_query).columns(item.column), item.queries, size, q);
    widen(a.k.from(item.first_key).columns(item.column), item.keys, size, k);
    widen(a.dout.from(item.first_query).columns(item.column), item.queries, size, dout);
    transpose(a.k.from(item.first_key).columns(item.column), item.keys, size, k_transposed);
    transpose(a.v.from(item.first_key).columns(item.column), item.keys, size, v_transposed);
    weigh(layout, item, q, k_transposed, weights);
    score(layout, item, dout, v_transposed, /*scale=*/1, dscores);
    for (std::int64_t t = 0; t < item.queries; ++t) {
      const float* row = weights + t * stride;
      float* d_row = dscores + t * stride;
      // Past the keys visible to row t, dscores may be uninitialised; the weights there are exactly 0.
      const std::int64_t seen = layout.causal ? t + 1 : item.keys;
      const std::uint32_t index = item.first_index + static_cast<std::uint32_t>(t * layout.max_keys);
      Floats total = {};
      for (std::int64_t s = 0; s < stride; s += kLanes) {
        const Floats p = load(row + s);
        Floats d = first(seen - s, load(d_row + s), 0);
        if (layout.mask.drops()) {
          const Floats kept = keep(layout.mask, index + static_cast<std::uint32_t>(s));
          d *= kept;
          store(kept_weights + t * stride + s, p * kept);
        }
        store(d_row + s, d);
        total += p * d;
      }
      const float mean = sum(total);
      for (std::int64_t s = 0; s < stride; s += kLanes) store(d_row + s, load(row + s) * (load(d_row + s) - mean));
      if (a.dbias == nullptr) continue;
      float* dbias = bias_row(layout, a.dbias, item, t);
      for (std::int64_t s = 0; s < stride; s += kLanes) store(dbias + s, load(dbias + s) + load(d_row + s));
    }
    product(Product<T>{.a = {dscores, stride, 1},
                       .b = {k, width},
                       .c = a.dq.from(item.first_query).columns(item.column),
                       .m = item.queries,
                       .n = size,
                       .k = item.keys,
                       .scale = layout.scale,
                       .part = lower});
    product(Product<T>{.a = {dscores, 1, stride},
                       .b = {q, width},
                       .c = a.dk.from(item.first_key).columns(item.column),
                       .m = item.keys,
                       .n = size,
                       .k = item.queries,
                       .scale = layout.scale,
                       .part = upper});
    product(Product<T>{.a = {kept_weights, 1, stride},
                       .b = {dout, width},
                       .c = a.dv.from(item.first_key).columns(item.column),
                       .m = item.keys,
                       .n = size,
                       .k = item.queries,
                       .part = upper});
  }
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
