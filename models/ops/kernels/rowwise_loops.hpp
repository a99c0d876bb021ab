// The loops of rowwise.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

// exp(-x² / 2), used by the normal density and its cumulative distribution.
ATTEND_INLINE Floats bell(Floats x) { return exp(-0.5f * x * x); }

// The normal cumulative distribution; erf by Abramowitz and Stegun 7.1.26, error below 1.5e-7.
ATTEND_INLINE Floats normal_cdf(Floats x, Floats bell_of_x) {
  const Floats z = (x < 0 ? -x : x) * 0.70710678f;
  const Floats t = 1.0f / (1.0f + 0.3275911f * z);
  const Floats tail = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) *
                      t * bell_of_x * 0.5f;
  return x < 0 ? tail : 1.0f - tail;
}

constexpr float kTanhScale = 0.79788456f;  // sqrt(2 / pi)
constexpr float kTanhCubic = 0.044715f;

template <Activation kind>
ATTEND_INLINE Floats activate(Floats x) {
  if constexpr (kind == Activation::relu) return max(Floats{}, x);
  if constexpr (kind == Activation::tanh) return tanh(x);
  if constexpr (kind == Activation::gelu) return x * normal_cdf(x, bell(x));
  if constexpr (kind == Activation::gelu_tanh) {
    return 0.5f * x * (1.0f + tanh(kTanhScale * x * (1.0f + kTanhCubic * x * x)));
  }
  if constexpr (kind == Activation::swish) return x * sigmoid(x);
  return x;
}

// The derivative, given PointwiseBackward's `saved`.
template <Activation kind>
ATTEND_INLINE Floats slope(Floats saved) {
  if constexpr (kind == Activation::relu) return select(saved > 0, all(1), Floats{});
  if constexpr (kind == Activation::tanh) return 1.0f - saved * saved;
  if constexpr (kind == Activation::gelu) {
    const Floats b = bell(saved);
    return normal_cdf(saved, b) + saved * 0.39894228f * b;
  }
  if constexpr (kind == Activation::gelu_tanh) {
    const Floats t = tanh(kTanhScale * saved * (1.0f + kTanhCubic * saved * saved));
    return 0.5f * (1.0f + t) + 0.5f * saved * (1.0f - t * t) * kTanhScale * (1.0f + 3.0f * kTanhCubic * saved * saved);
  }
  if constexpr (kind == Activation::swish) {
    const Floats s = sigmoid(saved);
    return s * (1.0f + saved * (1.0f - s));
  }
  return all(1);
}

template <Activation kind, class T>
ATTEND_INLINE void forward_range(const Pointwise<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += kLanes) {
    Floats y = activate<kind>(load(a.x + i, end - i));
    if (a.mask.drops()) y *= keep(a.mask, static_cast<std::uint32_t>(i));
    store(a.y + i, y, end - i);
  }
}

template <Activation kind, class T>
ATTEND_INLINE void backward_rows(const PointwiseBackward<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t i = row * a.width + c, n = a.width - c;
      const Floats saved = kind == Activation::none ? Floats{} : load(a.saved + i, n);
      Floats dx = load(a.dy + i, n);
      if (kind != Activation::none) dx *= slope<kind>(saved);
      if (a.y) store(a.y + i, activate<kind>(saved), n);
      if (a.dx) store(a.dx + i, dx, n);
      if (a.column_sums) store(a.column_sums + c, load(a.column_sums + c, n) + dx, n);
    }
  }
}

template <Activation kind, class T>
ATTEND_INLINE void gated_rows(const Gated<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* x = a.x + 2 * row * a.width;
    T* dx = a.result + 2 * row * a.width;
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t i = row * a.width + c, n = a.width - c;
      const Floats inner = load(x + c, n), gate = load(x + a.width + c, n), active = activate<kind>(inner);
      if (a.dy) {
        const Floats dy = load(a.dy + i, n), saved = kind == Activation::tanh ? active : inner;
        store(dx + c, dy * gate * slope<kind>(saved), n);
        store(dx + a.width + c, dy * active, n);
      } else {
        store(a.result + i, active * gate, n);
      }
    }
  }
}

// Calls f with the activation as a constant.
template <class F>
ATTEND_INLINE void with_activation(Activation activation, const F& f) {
  switch (activation) {
    case Activation::none: return f(std::integral_constant<Activation, Activation::none>());
    case Activation::relu: return f(std::integral_constant<Activation, Activation::relu>());
    case Activation::gelu: return f(std::integral_constant<Activation, Activation::gelu>());
    case Activation::gelu_tanh: return f(std::integral_constant<Activation, Activation::gelu_tanh>());
    case Activation::tanh: return f(std::integral_constant<Activation, Activation::tanh>());
    case Activation::swish: return f(std::integral_constant<Activation, Activation::swish>());
  }
}

template <class T>
void forward(const Pointwise<T>& a, std::int64_t begin, std::int64_t end) {
  with_activation(
      a.activation, [&](auto kind) __attribute__((always_inline)) { forward_range<kind>(a, begin, end); });
}

template <class T>
void backward(const PointwiseBackward<T>& a, std::int64_t begin, std::int64_t end) {
  with_activation(
      a.activation, [&](auto kind) __attribute__((always_inline)) { backward_rows<kind>(a, begin, end); });
}

template <class T>
void gate(const Gated<T>& a, std::int64_t begin, std::int64_t end) {
  with_activation(
      a.activation, [&](auto kind) __attribute__((always_inline)) { gated_rows<kind>(a, begin, end); });
}

template <bool centred, class T>
void forward_rows(const Norm<T>& a, std::int64_t begin, std::int64_t end) {
  const float width = static_cast<float>(a.width);
  for (std::int64_t row = begin; row < end; ++row) {
    const T* in = a.x + row * a.width;
    if (a.residual) {
      T* sum_row = a.sum + row * a.width;
      for (std::int64_t c = 0; c < a.width; c += kLanes) {
        const std::int64_t i = row * a.width + c, n = a.width - c;
        Floats x = load(a.x + i, n);
        if (a.mask.drops()) x *= keep(a.mask, static_cast<std::uint32_t>(i));
        store(sum_row + c, load(a.residual + i, n) + x, n);
      }
      in = sum_row;
    }
    float mean = 0;
    Floats squares = {};
    if constexpr (centred) {
      Floats total = {};
      for (std::int64_t c = 0; c < a.width; c += kLanes) total += load(in + c, a.width - c);
      mean = sum(total) / width;
    }
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const Floats x = first(a.width - c, load(in + c, a.width - c) - mean, 0);
      squares += x * x;
    }
    const float rstd = 1 / std::sqrt(sum(squares) / width + a.eps);
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t n = a.width - c;
      Floats y = (load(in + c, n) - mean) * rstd * load(a.gamma + c, n);
      if constexpr (centred) y += load(a.beta + c, n);
      store(a.y + row * a.width + c, y, n);
    }
    if constexpr (centred) a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <class T>
void forward(const Norm<T>& a, std::int64_t begin, std::int64_t end) {
  a.beta != nullptr ? forward_rows<true>(a, begin, end) : forward_rows<false>(a, begin, end);
}

template <bool centred, class T>
void backward_rows(const NormBackward<T>& a, std::int64_t begin, std::int64_t end) {
  const float width = static_cast<float>(a.width);
  for (std::int64_t row = begin; row < end; ++row) {
    const float mean = centred ? a.mean[row] : 0, rstd = a.rstd[row];
    Floats total = {}, products = {};  // of g = dy * gamma, and of g * normalised
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t i = row * a.width + c, n = a.width - c;
      const Floats dy = load(a.dy + i, n);
      const Floats normalised = (load(a.sum + i, n) - mean) * rstd;
      const Floats g = dy * load(a.gamma + c, n);
      if constexpr (centred) total += g;
      products += g * normalised;
      store(a.dgamma + c, load(a.dgamma + c, n) + dy * normalised, n);
      if constexpr (centred) store(a.dbeta + c, load(a.dbeta + c, n) + dy, n);
    }
    const float mean_g = centred ? sum(total) / width : 0, mean_product = sum(products) / width;
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t i = row * a.width + c, n = a.width - c;
      const Floats normalised = (load(a.sum + i, n) - mean) * rstd;
      Floats d = rstd * (load(a.dy + i, n) * load(a.gamma + c, n) - mean_g - normalised * mean_product);
      if (a.dsum_in) d += load(a.dsum_in + i, n);
      store(a.dsum + i, d, n);
      if (a.dx) store(a.dx + i, d * keep(a.mask, static_cast<std::uint32_t>(i)), n);
    }
  }
}

template <class T>
void backward(const NormBackward<T>& a, std::int64_t begin, std::int64_t end) {
  a.dbeta != nullptr ? backward_rows<true>(a, begin, end) : backward_rows<false>(a, begin, end);
}

template <class T>
void forward(const Embed<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t m = begin; m < end; ++m) {
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t i = m * a.width + c, n = a.width - c;
      Floats x = load(a.table + a.ids[m] * a.width + c, n) * a.scale;
      if (a.positions) x += load(a.positions + a.places[m] * a.width + c, n);
      if (a.mask.drops()) x *= keep(a.mask, static_cast<std::uint32_t>(i));
      store(a.y + i, x, n);
    }
  }
}

template <class T>
void backward(const EmbedBackward<T>& a, std::int64_t begin, std::int64_t end) {
  const std::int64_t last = std::min(end * kWidest, a.width);
  for (std::int64_t m = 0; m < a.num_tokens; ++m) {
    for (std::int64_t c = begin * kWidest; c < last; c += kLanes) {
      const std::int64_t i = m * a.width + c, n = a.width - c;
      Floats d = load(a.dy + i, n);
      if (a.mask.drops()) d *= keep(a.mask, static_cast<std::uint32_t>(i));
      if (a.dtable) {
        float* to = a.dtable + a.ids[m] * a.width + c;
        store(to, load(to, n) + d * a.scale, n);
      }
      if (a.dpositions) {
        float* to = a.dpositions + a.places[m] * a.width + c;
        store(to, load(to, n) + d, n);
      }
    }
  }
}

template <class T>
void rows(const LossRows<T>& a, std::int64_t begin, std::int64_t end) {
  const std::int64_t size = a.vocabulary;
  const auto count = static_cast<float>(size);
  const std::unique_ptr<float[]> exponentials(new float[size + kLanes]);
  for (std::int64_t r = begin; r < end; ++r) {
    const float* row = a.logits + r * size;
    const float label_logit = row[a.labels[r]];
    Floats top = all(label_logit), total = {};
    for (std::int64_t v = 0; v < size; v += kLanes) {
      const Floats x = load(row + v, size - v);
      top = max(top, first(size - v, x, label_logit));
      total += x;
    }
    const float most = largest(top);
    Floats exponential_total = {};
    for (std::int64_t v = 0; v < size; v += kLanes) {
      const Floats e = first(size - v, exp(load(row + v, size - v) - most), 0);
      store(exponentials.get() + v, e);
      exponential_total += e;
    }
    const float normaliser = sum(exponential_total);
    const float log_normaliser = most + std::log(normaliser);
    a.nll[r] = log_normaliser - label_logit;
    a.loss[r] = log_normaliser - (1 - a.smoothing) * label_logit - a.smoothing * sum(total) / count;
    a.correct[r] = label_logit >= most;
    if (a.gradient == nullptr) continue;
    T* gradient = a.gradient + r * size;
    const float share = a.smoothing / count, unnormalise = 1 / normaliser;
    for (std::int64_t v = 0; v < size; v += kLanes) {
      store(gradient + v, load(exponentials.get() + v) * unnormalise - share, size - v);
    }
    const std::int64_t label = a.labels[r];
    store(gradient + label, all(exponentials[label] * unnormalise - share - (1 - a.smoothing)), 1);
  }
}

inline void log_sum_exp(const float* x, std::int64_t n, float* block_max, float& result) {
  float most = x[0];
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    Floats top = all(x[begin]);
    for (std::int64_t i = begin; i < std::min(begin + kBlock, n); i += kLanes) {
      top = max(top, first(n - i, load(x + i, n - i), x[begin]));
    }
    block_max[begin / kBlock] = largest(top);
    most = std::max(most, block_max[begin / kBlock]);
  }
  Floats total = {};
  for (std::int64_t i = 0; i < n; i += kLanes) total += first(n - i, exp(load(x + i, n - i) - most), 0);
  result = most + std::log(sum(total));
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
