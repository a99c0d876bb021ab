// The loops of query.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

// Softmax of n scores in place.
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

// One stage of the sums below: vector i receives pairwise sums of vectors i and i + distance.
template <int distance>
ATTEND_INLINE void add_stage(Floats (&x)[kLanes]) {
#pragma GCC unroll 8
  for (int i = 0; i < distance; ++i) {
    exchange<distance>(x[i], x[i + distance]);
    x[i] += x[i + distance];
  }
}

// Sums the lanes: lane i of the result is the sum of vector i.
ATTEND_INLINE Floats sums_of(Floats (&x)[kLanes]) {
  if constexpr (kLanes >= 16) add_stage<8>(x);
  if constexpr (kLanes >= 8) add_stage<4>(x);
  add_stage<2>(x);
  add_stage<1>(x);
  return x[0];
}

// For keys scattered in memory, which hardware prefetchers cannot predict.
template <class T>
ATTEND_INLINE void prefetch(const T* numbers, std::int64_t count) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  for (std::int64_t j = 0; j < count; j += kLine) __builtin_prefetch(numbers + j);
}

// products[i] += query keys[i][column, …], for `n` numbers, lane by lane.
template <class T, class U>
ATTEND_INLINE void add_products(const T* query, const U* const (&keys)[kLanes], std::int64_t column, std::int64_t n,
                                Floats (&products)[kLanes]) {
  const auto add = [&](std::int64_t j, const auto& load_vector) __attribute__((always_inline)) {
    const Floats part = load_vector(query + j);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) products[i] += part * load_vector(keys[i] + column + j);
  };
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    add(
        j, [](const auto* from) __attribute__((always_inline)) { return load(from); });
  }
  if (j < n) {
    add(
        j, [&](const auto* from) __attribute__((always_inline)) { return load(from, n - j); });
  }
}

// sums += Σ_i weights[i] keys[i][column, …], for some vectors of `n` numbers.
template <int vectors, class T>
ATTEND_INLINE void add_values(const T* const (&keys)[kLanes], std::int64_t column, const float (&weights)[kLanes],
                              float* sums, std::int64_t n) {
  Floats c[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) c[v] = load(sums + v * kLanes);
  for (int i = 0; i < kLanes; ++i) {
    const Floats weight = all(weights[i]);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) c[v] += weight * load(keys[i] + column + v * kLanes, n - v * kLanes);
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) store(sums + v * kLanes, c[v]);
}

// The additive score e_s of a query and a key with coverage C_s.
template <class T>
ATTEND_INLINE float additive_score(const QueryMemory<T>& memory, const T* query, const T* key, float covered) {
  const std::int64_t n = memory.key_width;
  Floats total = {};
  for (std::int64_t j = 0; j < n; j += kLanes) {
    Floats x = load(query + j, n - j) + load(key + j, n - j);
    if (memory.coverage_key != nullptr) x += covered * load(memory.coverage_key + j, n - j);
    total += load(memory.energy + j, n - j) * tanh(x);
  }
  return sum(total);
}

// The energies of kLanes keys in head h, before biases.
template <class T>
ATTEND_INLINE Floats energies(const QueryOverKeys<T>& row, std::int64_t h, const T* const (&keys)[kLanes],
                              const float* const (&distance_keys)[kLanes]) {
  const std::int64_t size = row.key_size;
  const T* query = row.query + h * size;
  Floats result = {};
  if (row.energy != nullptr) {
    QueryMemory<T> memory = {};
    memory.key_width = size;
    memory.energy = row.energy + h * size;
    for (int i = 0; i < kLanes; ++i) result[i] = additive_score(memory, query, keys[i] + h * size, 0);
    return result;
  }
  Floats products[kLanes] = {};
  add_products(query, keys, h * size, size, products);
  if (row.distance_keys != nullptr) add_products(query, distance_keys, 0, size, products);
  result = row.scale * sums_of(products);
  for (int i = 0; row.log_products && i < kLanes; ++i) {
    result[i] = std::log(std::max(result[i], std::numeric_limits<float>::min()));
  }
  return result;
}

// Reads each key and value once, kLanes keys at a time, with an online softmax: the sums are scaled down when a larger
// score appears (Milakov and Gimelshein 2018, arXiv 1805.02867).
template <class T>
void over_keys(const QueryOverKeys<T>& row) {
  const std::int64_t size = row.value_size, n = row.num_keys, stride = padded(size);
  const std::int64_t values = row.heads * row.key_size;  // where they begin
  float* sums = row.scratch;                             // [heads, stride], sums of values
  float* totals = sums + row.heads * stride;             // per head, sums of weights
  float* largest_scores = totals + row.heads;            // per head
  std::fill(sums, largest_scores, 0.0f);
  std::fill(largest_scores, largest_scores + row.heads, -INFINITY);
  for (std::int64_t s = 0; s < n; s += kLanes) {
    const T *keys[kLanes], *later[kLanes];
    const float *distance_keys[kLanes] = {}, *distance_values[kLanes] = {};
    for (int i = 0; i < kLanes; ++i) {
      keys[i] = row.keys[std::min(s + i, n - 1)];
      later[i] = row.keys[std::min(s + kLanes + i, n - 1)];
    }
    for (int i = 0; row.distance_keys != nullptr && i < kLanes; ++i) {
      distance_keys[i] = row.distance_keys + std::min(s + i, n - 1) * row.key_size;
      distance_values[i] = row.distance_values + std::min(s + i, n - 1) * size;
    }
    for (std::int64_t h = 0; h < row.heads; ++h) {
      for (int i = 0; i < kLanes; ++i) {
        prefetch(later[i] + h * row.key_size, row.key_size);
        prefetch(later[i] + values + h * size, size);
      }
      Floats scores = energies(row, h, keys, distance_keys);
      if (row.bias != nullptr) scores += load(row.bias + h * row.bias_stride + s, n - s);
      scores = first(n - s, scores, -INFINITY);
      const float top = std::max(largest_scores[h], largest(scores));
      if (top == -INFINITY) continue;  // all keys so far are excluded
      if (top > largest_scores[h]) {
        const Floats down = exp(all(largest_scores[h] - top));
        totals[h] *= down[0];
        for (std::int64_t j = 0; j < stride; j += kLanes) {
          store(sums + h * stride + j, down * load(sums + h * stride + j));
        }
        largest_scores[h] = top;
      }
      const Floats e = exp_or_zero(scores - top);
      totals[h] += sum(e);
      float weights[kLanes];
      store(weights, e);
      const std::int64_t value = values + h * size;
      std::int64_t j = 0;
      for (; j + 4 * kLanes <= size; j += 4 * kLanes) {
        add_values<4>(keys, value + j, weights, sums + h * stride + j, size - j);
      }
      for (; j < size; j += kLanes) add_values<1>(keys, value + j, weights, sums + h * stride + j, size - j);
      if (row.distance_keys == nullptr) continue;
      for (j = 0; j < size; j += kLanes) add_values<1>(distance_values, j, weights, sums + h * stride + j, size - j);
    }
  }
  for (std::int64_t h = 0; h < row.heads; ++h) {
    const float inverse = n > 0 ? 1 / totals[h] : 0;
    for (std::int64_t j = 0; j < size; j += kLanes) {
      store(row.context + h * size + j, inverse * load(sums + h * stride + j), size - j);
    }
  }
}

// The tokens that a row reads: [begin, end) of its sentence, which starts at token `first` of the memory.
struct Reach {
  std::int64_t first, tokens, begin, end;
};

template <class T>
ATTEND_INLINE Reach reach(const QueryMemory<T>& memory, std::int64_t i) {
  const std::int64_t first = memory.offsets[memory.sentences[i]];
  const std::int64_t tokens = memory.offsets[memory.sentences[i] + 1] - first;
  if (memory.centres == nullptr) return {first, tokens, 0, tokens};
  const float low = std::ceil(memory.centres[i] - memory.half_width);
  const float high = std::floor(memory.centres[i] + memory.half_width);
  const std::int64_t begin = std::clamp<std::int64_t>(static_cast<std::int64_t>(low), 0, tokens);
  return {first, tokens, begin, std::clamp<std::int64_t>(static_cast<std::int64_t>(high) + 1, begin, tokens)};
}

// The distances of positions s, s + 1, … from a row's centre.
template <class T>
ATTEND_INLINE Floats distances(const QueryMemory<T>& memory, std::int64_t i, std::int64_t s) {
  return __builtin_convertvector(reinterpret_cast<Ints>(lane_numbers()), Floats) +
         (static_cast<float>(s) - memory.centres[i]);
}

template <class T>
void forward(const Attend<T>& step, std::int64_t begin, std::int64_t end) {
  const QueryMemory<T>& memory = step.memory;
  const std::int64_t A = memory.key_width, V = memory.value_width;
  for (std::int64_t i = begin; i < end; ++i) {
    const Reach span = reach(memory, i);
    const std::int64_t count = span.end - span.begin;
    float* all_weights = memory.weights + memory.first_weight[i];
    float* weights = all_weights + span.begin;
    const T *query = step.query.row(i), *keys = memory.keys + (span.first + span.begin) * A,
            *values = memory.values + (span.first + span.begin) * V;
    std::fill(all_weights, weights, 0.0f);
    std::fill(weights + count, all_weights + span.tokens, 0.0f);
    const float* coverage =
        memory.coverage == nullptr ? nullptr : memory.coverage + memory.first_weight[i] + span.begin;
    const auto covered = [&](std::int64_t s) __attribute__((always_inline)) {
      return coverage == nullptr ? 0.0f : coverage[s];
    };
    if (memory.energy == nullptr) {
      const float along = coverage == nullptr ? 0.0f : dot(query, memory.coverage_key, A);
      for (std::int64_t s = 0; s < count; ++s) weights[s] = dot(query, keys + s * A, A) + covered(s) * along;
    } else {
      for (std::int64_t s = 0; s < count; ++s) weights[s] = additive_score(memory, query, keys + s * A, covered(s));
    }
    softmax(weights, count);
    if (memory.precision > 0) {
      for (std::int64_t s = 0; s < count; s += kLanes) {
        const Floats distance = distances(memory, i, span.begin + s);
        const Floats factor = exp(-0.5f * memory.precision * distance * distance);
        store(weights + s, load(weights + s, count - s) * factor, count - s);
      }
    }
    weighted_sum(
        V, count, weights, 1, [&](std::int64_t s) __attribute__((always_inline)) { return values + s * V; },
        [&](std::int64_t j, Floats sum)
            __attribute__((always_inline)) { store(step.context.row(i) + j, sum * keep(step.dropout, i, j), V - j); });
  }
}

// Turns the gradients of the weights w into those of the scores, in place; returns the gradient of the centre.
//   de_s = w_s (dw_s - (Σ_r w_r dw_r) / g_s),   dcentre = precision Σ_s w_s dw_s (s - centre)
template <class T>
ATTEND_INLINE float score_backward(const QueryMemory<T>& memory, std::int64_t i, const Reach& span,
                                   const float* weights, float* gradients) {
  const std::int64_t count = span.end - span.begin;
  float mean = 0;
  for (std::int64_t s = 0; s < count; ++s) mean += weights[s] * gradients[s];
  if (memory.precision == 0) {
    for (std::int64_t s = 0; s < count; ++s) gradients[s] = weights[s] * (gradients[s] - mean);
    return 0;
  }
  Floats moved = {};
  for (std::int64_t s = 0; s < count; s += kLanes) {
    const std::int64_t n = count - s;
    const Floats distance = distances(memory, i, span.begin + s);
    const Floats w = load(weights + s, n), dw = load(gradients + s, n);
    moved += w * dw * distance;
    store(gradients + s, w * (dw - mean * exp(0.5f * memory.precision * distance * distance)), n);
  }
  return memory.precision * sum(moved);
}

// Backpropagates the additive score of row i: with x_s = tanh(query + key_s) and d_s = de_s v (1 - x_s²), dquery = Σ_s
// d_s, dkey_s += d_s, dv += Σ_s de_s x_s.
template <class T>
ATTEND_INLINE void additive_backward(const AttendBackward<T>& step, std::int64_t i, const Reach& span,
                                     const float* gradients, float* denergy) {
  const QueryMemory<T>& memory = step.memory;
  const std::int64_t A = memory.key_width, from = span.first + span.begin;
  for (std::int64_t j = 0; j < A; j += kLanes) {
    const std::int64_t n = A - j;
    const Floats query = load(step.query.row(i) + j, n), energy = load(memory.energy + j, n);
    Floats dquery = {}, dv = load(denergy + j, n);
    for (std::int64_t s = 0; s < span.end - span.begin; ++s) {
      const Floats x = tanh(query + load(memory.keys + (from + s) * A + j, n));
      const Floats d = gradients[s] * energy * (1.0f - x * x);
      float* dkey = step.key_gradient.row(from + s) + j;
      store(dkey, load(dkey, n) + d, n);
      dquery += d;
      dv += gradients[s] * x;
    }
    store(step.sum_gradient.row(i) + j, dquery, n);
    store(denergy + j, dv, n);
  }
}

template <class T>
void backward(const AttendBackward<T>& step, std::int64_t begin, std::int64_t end) {
  const QueryMemory<T>& memory = step.memory;
  const std::int64_t A = memory.key_width, V = memory.value_width;
  for (std::int64_t i = begin; i < end; ++i) {
    const Reach span = reach(memory, i);
    const std::int64_t count = span.end - span.begin;
    const float* weights = memory.weights + memory.first_weight[i] + span.begin;
    float* all_gradients = step.score_gradients + memory.first_weight[i];
    float* gradients = all_gradients + span.begin;
    const T *keys = memory.keys + (span.first + span.begin) * A,
            *values = memory.values + (span.first + span.begin) * V;
    std::fill(all_gradients, gradients, 0.0f);
    std::fill(gradients + count, all_gradients + span.tokens, 0.0f);
    for (std::int64_t s = 0; s < count; ++s) gradients[s] = dot<T>(step.context_gradient.row(i), values + s * V, V);
    const float dcentre = score_backward(memory, i, span, weights, gradients);
    if (step.share_gradients != nullptr) {
      const float share = span.tokens > 0 ? memory.centres[i] / static_cast<float>(span.tokens) : 0.0f;
      step.share_gradients[i] = dcentre * memory.centres[i] * (1 - share);
    }
    if (memory.energy != nullptr) {
      additive_backward(step, i, span, gradients, step.energy_gradient.row(memory.sentences[i]));
      continue;
    }
    float* query_gradient = step.query_gradient.row(i);
    weighted_sum(
        A, count, gradients, 1, [&](std::int64_t s) __attribute__((always_inline)) { return keys + s * A; },
        [&](std::int64_t j, Floats sum) __attribute__((always_inline)) {
          store(query_gradient + j, load(query_gradient + j, A - j) + sum, A - j);
        });
  }
}

// What additive_score and additive_backward read of group g.
ATTEND_INLINE QueryMemory<float> memory_of(const AdditiveScores& groups, std::int64_t g) {
  QueryMemory<float> memory = {};
  memory.key_width = groups.width;
  memory.keys = groups.key + g * groups.keys * groups.width;
  memory.energy = groups.energy + g % groups.heads * groups.width;
  return memory;
}

inline void forward(const AdditiveScores& groups, std::int64_t begin, std::int64_t end) {
  const std::int64_t T = groups.queries, S = groups.keys, A = groups.width;
  for (std::int64_t g = begin; g < end; ++g) {
    const QueryMemory<float> memory = memory_of(groups, g);
    for (std::int64_t t = g * T; t < (g + 1) * T; ++t) {
      for (std::int64_t s = 0; s < S; ++s) {
        groups.scores[t * S + s] = additive_score(memory, groups.query + t * A, memory.keys + s * A, 0);
      }
    }
  }
}

inline void backward(const AdditiveScoresBackward& groups, std::int64_t begin, std::int64_t end) {
  const AdditiveScores& of = groups.of;
  const std::int64_t T = of.queries, S = of.keys, A = of.width;
  for (std::int64_t g = begin; g < end; ++g) {
    AttendBackward<float> group = {};
    group.memory = memory_of(of, g);
    group.query = {of.query + g * T * A, A};
    group.sum_gradient = {groups.query_gradient + g * T * A, A};
    group.key_gradient = {groups.key_gradient + g * S * A, A};
    float* energy_gradient = groups.energy_gradient + g % of.heads * A;
    for (std::int64_t t = 0; t < T; ++t) {
      additive_backward(group, t, {0, S, 0, S}, groups.score_gradients + (g * T + t) * S, energy_gradient);
    }
  }
}

template <class T>
void backward(const MemoryBackward<T>& memory, std::int64_t begin, std::int64_t end) {
  for (std::int64_t b = begin; b < end; ++b) {
    const std::int64_t tokens = memory.offsets[b + 1] - memory.offsets[b];
    const std::int64_t steps = memory.tgt_offsets[b + 1] - memory.tgt_offsets[b];
    const std::int64_t* packed = memory.packed_rows + memory.tgt_offsets[b];
    // The weights of a sentence's steps are adjacent.
    const float* factors = steps > 0 ? memory.factors + memory.first_weight[packed[0]] : nullptr;
    for (std::int64_t s = 0; s < tokens; ++s) {
      T* gradient = memory.gradient.row(memory.offsets[b] + s);
      weighted_sum(
          memory.width, steps, steps > 0 ? factors + s : nullptr,
          tokens, [&](std::int64_t t) __attribute__((always_inline)) { return memory.vectors.row(packed[t]); },
          [&](std::int64_t j, Floats sum)
              __attribute__((always_inline)) { store(gradient + j, sum, memory.width - j); });
    }
  }
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
