// The loops of norm.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

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

}  // namespace attend::ops::kernels::ATTEND_LEVEL
