// The loops of query.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

// In place, of n scores.
ATTEND_INLINE void softmax(float* scores, std::int64_t n) {
  Floats top = all(n > 0 ? scores[0] : 0), total = {};
  for (std::int64_t s = 0; s < n; s += kLanes) top = max(top, first(n - s, load(scores + s, n - s), scores[0]));
  const float most = largest(top);
  for (std::int64_t s = 0; s < n; s += kLanes) {
    const Floats e = first(n - s, exp(load(scores + s, n - s) - most), 0);
    store(scores + s, e, n - s);
    total += e;
  }
  const float inverse = 1 / sum(total);
  for (std::int64_t s = 0; s < n; ++s) scores[s] *= inverse;
}

template <class T>
void over_keys(const QueryOverKeys<T>& row) {
  const std::int64_t size = row.head_size, n = row.num_keys;
  const float scale = 1.0f / std::sqrt(static_cast<float>(size));
  for (std::int64_t s = 0; s < n; ++s) {
    for (std::int64_t h = 0; h < row.heads; ++h) {
      row.weights[h * n + s] = scale * dot(row.query + h * size, row.keys[s] + h * size, size);
    }
  }
  for (std::int64_t h = 0; h < row.heads; ++h) {
    softmax(row.weights + h * n, n);
    weighted_sum(
        size, n, row.weights + h * n,
        1, [&](std::int64_t s) __attribute__((always_inline)) { return row.keys[s] + row.value_offset + h * size; },
        [&](std::int64_t j, Floats sum)
            __attribute__((always_inline)) { store(row.context + h * size + j, sum, size - j); });
  }
}

template <class T>
void forward(const Attend<T>& step, std::int64_t begin, std::int64_t end) {
  const std::int64_t H = step.width, V = step.value_width;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t first = step.offsets[step.sentences[i]];
    const std::int64_t tokens = step.offsets[step.sentences[i] + 1] - first;
    const std::int64_t row = step.dropout.active ? step.rows[i] : 0;
    float* weights = step.weights + step.first_weight[i];
    for (std::int64_t s = 0; s < tokens; ++s) weights[s] = dot<T>(step.query.row(i), step.keys + (first + s) * H, H);
    softmax(weights, tokens);
    weighted_sum(
        V, tokens, weights,
        1, [&](std::int64_t s) __attribute__((always_inline)) { return step.values + (first + s) * V; },
        [&](std::int64_t j, Floats sum) __attribute__((always_inline)) {
          store(step.context.row(i) + j, sum * keep(step.dropout, row, j), V - j);
        });
  }
}

template <class T>
void backward(const AttendBackward<T>& step, std::int64_t begin, std::int64_t end) {
  const std::int64_t H = step.width, V = step.value_width;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t first = step.offsets[step.sentences[i]];
    const std::int64_t tokens = step.offsets[step.sentences[i] + 1] - first;
    const float* weights = step.weights + step.first_weight[i];
    float* gradients = step.score_gradients + step.first_weight[i];
    float mean = 0;
    for (std::int64_t s = 0; s < tokens; ++s) {
      gradients[s] = dot<T>(step.context_gradient.row(i), step.values + (first + s) * V, V);
      mean += weights[s] * gradients[s];
    }
    for (std::int64_t s = 0; s < tokens; ++s) gradients[s] = weights[s] * (gradients[s] - mean);
    float* query_gradient = step.query_gradient.row(i);
    weighted_sum(
        H, tokens, gradients,
        1, [&](std::int64_t s) __attribute__((always_inline)) { return step.keys + (first + s) * H; },
        [&](std::int64_t j, Floats sum) __attribute__((always_inline)) {
          store(query_gradient + j, load(query_gradient + j, H - j) + sum, H - j);
        });
  }
}

template <class T>
void backward(const MemoryBackward<T>& memory, std::int64_t begin, std::int64_t end) {
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
          [&](std::int64_t j, Floats sum)
              __attribute__((always_inline)) { store(gradient + j, sum, memory.width - j); });
    }
  }
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
