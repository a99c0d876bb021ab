// The loops of norm.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

template <class T>
void forward(const Norm<T>& a, std::int64_t begin, std::int64_t end) {
  const float width = static_cast<float>(a.width);
  for (std::int64_t row = begin; row < end; ++row) {
    const T* in = a.x + row * a.width;
    if (a.residual) {
      T* sum_row = a.sum + row * a.width;
      for (std::int64_t c = 0; c < a.width; c += kLanes) {
        const std::int64_t i = row * a.width + c, n = a.width - c;
        Floats x = load(a.x + i, n);
        if (a.drop) x *= keep(a.mask, static_cast<std::uint32_t>(i));
        store(sum_row + c, load(a.residual + i, n) + x, n);
      }
      in = sum_row;
    }
    Floats total = {};
    for (std::int64_t c = 0; c < a.width; c += kLanes) total += load(in + c, a.width - c);
    const float mean = sum(total) / width;
    Floats squares = {};
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const Floats x = first(a.width - c, load(in + c, a.width - c) - mean, 0);
      squares += x * x;
    }
    const float rstd = 1 / std::sqrt(sum(squares) / width + a.eps);
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t n = a.width - c;
      const Floats y = (load(in + c, n) - mean) * rstd * load(a.gamma + c, n) + load(a.beta + c, n);
      store(a.y + row * a.width + c, y, n);
    }
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <class T>
void backward(const NormBackward<T>& a, std::int64_t begin, std::int64_t end) {
  const float width = static_cast<float>(a.width);
  for (std::int64_t row = begin; row < end; ++row) {
    const float mean = a.mean[row], rstd = a.rstd[row];
    Floats total = {}, products = {};  // of g = dy * gamma, and of g * normalised
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t i = row * a.width + c, n = a.width - c;
      const Floats dy = load(a.dy + i, n);
      const Floats normalised = (load(a.sum + i, n) - mean) * rstd;
      const Floats g = dy * load(a.gamma + c, n);
      total += g;
      products += g * normalised;
      store(a.dgamma + c, load(a.dgamma + c, n) + dy * normalised, n);
      store(a.dbeta + c, load(a.dbeta + c, n) + dy, n);
    }
    const float mean_g = sum(total) / width, mean_product = sum(products) / width;
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t i = row * a.width + c, n = a.width - c;
      const Floats normalised = (load(a.sum + i, n) - mean) * rstd;
      Floats d = rstd * (load(a.dy + i, n) * load(a.gamma + c, n) - mean_g - normalised * mean_product);
      if (a.dsum_in) d += load(a.dsum_in + i, n);
      store(a.dsum + i, d, n);
      if (a.dx) store(a.dx + i, a.drop ? d * keep(a.mask, static_cast<std::uint32_t>(i)) : d, n);
    }
  }
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
