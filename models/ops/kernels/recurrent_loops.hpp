// The loops of recurrent.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

// Block k of the gate sums at column j; `product` may be null.
template <class T>
struct Sums {
  const T* input;
  const T* product;
  std::int64_t width;
  ATTEND_INLINE Floats operator()(std::int64_t k, std::int64_t j) const {
    const Floats x = load(input + k * width + j, width - j);
    return product != nullptr ? x + load(product + k * width + j, width - j) : x;
  }
};

template <class T>
ATTEND_INLINE T* row_or_null(const Rows<T>& rows, std::int64_t row) {
  return rows.data != nullptr ? rows.row(row) : nullptr;
}

template <class T>
void lstm_forward(const CellForward<T>& step, std::int64_t row) {
  const std::int64_t H = step.width;
  const Sums<T> sums{step.input.row(row), row_or_null(step.product, row), H};
  T* gates = step.gates.row(row);
  const float* before = row_or_null(step.inner_before, row);
  float* inner = row_or_null(step.inner, row);
  T* hidden = step.hidden.row(row);
  for (std::int64_t j = 0; j < H; j += kLanes) {
    const std::int64_t n = H - j;
    const Floats i = sigmoid(sums(0, j)), f = sigmoid(sums(1, j)), g = tanh(sums(2, j)), o = sigmoid(sums(3, j));
    const Floats c = before != nullptr ? f * load(before + j, n) + i * g : i * g;
    store(gates + j, i, n);
    store(gates + H + j, f, n);
    store(gates + 2 * H + j, g, n);
    store(gates + 3 * H + j, o, n);
    if (inner != nullptr) store(inner + j, c, n);
    store(hidden + j, o * tanh(c), n);
  }
}

template <class T>
void gru_forward(const CellForward<T>& step, std::int64_t row) {
  const std::int64_t H = step.width;
  const Sums<T> sums{step.input.row(row), row_or_null(step.product, row), H};
  const T* recurrent = step.recurrent.row(row);
  const T* before = step.hidden_before.row(row);
  T* gates = step.gates.row(row);
  float* inner = row_or_null(step.inner, row);
  T* hidden = step.hidden.row(row);
  for (std::int64_t j = 0; j < H; j += kLanes) {
    const std::int64_t n = H - j;
    const Floats r = sigmoid(sums(0, j) + load(recurrent + j, n)), z = sigmoid(sums(1, j) + load(recurrent + H + j, n));
    const Floats u = load(recurrent + 2 * H + j, n), c = tanh(sums(2, j) + r * u);
    store(gates + j, r, n);
    store(gates + H + j, z, n);
    store(gates + 2 * H + j, c, n);
    if (inner != nullptr) store(inner + j, u, n);
    store(hidden + j, c + z * (load(before + j, n) - c), n);
  }
}

template <class T>
void tanh_forward(const CellForward<T>& step, std::int64_t row) {
  const std::int64_t H = step.width;
  const Sums<T> sums{step.input.row(row), row_or_null(step.product, row), H};
  for (std::int64_t j = 0; j < H; j += kLanes) {
    const Floats h = tanh(sums(0, j));
    store(step.gates.row(row) + j, h, H - j);
    store(step.hidden.row(row) + j, h, H - j);
  }
}

template <class T>
void forward(const CellForward<T>& step, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    switch (step.kind) {
      case CellKind::lstm: lstm_forward(step, row); break;
      case CellKind::gru: gru_forward(step, row); break;
      case CellKind::tanh: tanh_forward(step, row); break;
    }
  }
}

template <class T>
void lstm_backward(const CellBackward<T>& step, std::int64_t row) {
  const std::int64_t H = step.width;
  const T* gates = step.gates.row(row);
  const float* before = row_or_null(step.inner_before, row);
  float* carried = step.carried.row(row);
  T* dgates = step.gate_gradient.row(row);
  for (std::int64_t j = 0; j < H; j += kLanes) {
    const std::int64_t n = H - j;
    const Floats i = load(gates + j, n), f = load(gates + H + j, n), g = load(gates + 2 * H + j, n),
                 o = load(gates + 3 * H + j, n);
    const Floats c = tanh(load(step.inner.row(row) + j, n)), dh = load(step.hidden_gradient.row(row) + j, n);
    const Floats dc = load(carried + j, n) + dh * o * (1.0f - c * c);
    store(dgates + j, dc * g * i * (1.0f - i), n);
    store(dgates + H + j, before != nullptr ? dc * load(before + j, n) * f * (1.0f - f) : Floats{}, n);
    store(dgates + 2 * H + j, dc * i * (1.0f - g * g), n);
    store(dgates + 3 * H + j, dh * c * o * (1.0f - o), n);
    store(carried + j, dc * f, n);
  }
}

template <class T>
void gru_backward(const CellBackward<T>& step, std::int64_t row) {
  const std::int64_t H = step.width;
  const T* gates = step.gates.row(row);
  const T* before = step.hidden_before.row(row);
  float* carried = step.carried.row(row);
  T* dgates = step.gate_gradient.row(row);
  T* drecurrent = step.recurrent_gradient.row(row);
  for (std::int64_t j = 0; j < H; j += kLanes) {
    const std::int64_t n = H - j;
    const Floats r = load(gates + j, n), z = load(gates + H + j, n), c = load(gates + 2 * H + j, n);
    const Floats dh = load(step.hidden_gradient.row(row) + j, n) + load(carried + j, n);
    const Floats dc = dh * (1.0f - z) * (1.0f - c * c);
    const Floats dz = dh * (load(before + j, n) - c) * z * (1.0f - z);
    const Floats dr = dc * load(step.inner.row(row) + j, n) * r * (1.0f - r);
    store(dgates + j, dr, n);
    store(dgates + H + j, dz, n);
    store(dgates + 2 * H + j, dc, n);
    store(drecurrent + j, dr, n);
    store(drecurrent + H + j, dz, n);
    store(drecurrent + 2 * H + j, dc * r, n);
    store(carried + j, dh * z, n);
  }
}

template <class T>
void tanh_backward(const CellBackward<T>& step, std::int64_t row) {
  const std::int64_t H = step.width;
  for (std::int64_t j = 0; j < H; j += kLanes) {
    const Floats h = load(step.gates.row(row) + j, H - j);
    store(step.gate_gradient.row(row) + j, load(step.hidden_gradient.row(row) + j, H - j) * (1.0f - h * h), H - j);
  }
}

template <class T>
void backward(const CellBackward<T>& step, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    switch (step.kind) {
      case CellKind::lstm: lstm_backward(step, row); break;
      case CellKind::gru: gru_backward(step, row); break;
      case CellKind::tanh: tanh_backward(step, row); break;
    }
  }
}

template <class From, class To>
void copy_each(const CopyRows<From, To>& copy, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const From* from = copy.from.row(copy.from_index != nullptr ? copy.from_index[i] : i);
    To* to = copy.to.row(copy.to_index != nullptr ? copy.to_index[i] : i);
    for (std::int64_t j = 0; j < copy.width; j += kLanes) {
      const std::int64_t n = copy.width - j;
      Floats x = load(from + j, n) * keep(copy.dropout, i, j);
      if (copy.add) x += load(to + j, n);
      store(to + j, x, n);
    }
  }
}

template <class T>
void forward(const Tanh<T>& step, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    T* to = step.to.row(step.to_index[i]);
    for (std::int64_t j = 0; j < step.width; j += kLanes) {
      store(to + j, tanh(load(step.from.row(i) + j, step.width - j)), step.width - j);
    }
  }
}

template <class T>
void backward(const TanhBackward<T>& step, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const T* result = step.result.row(step.result_index[i]);
    for (std::int64_t j = 0; j < step.width; j += kLanes) {
      const std::int64_t n = step.width - j;
      const Floats y = load(result + j, n);
      store(step.to.row(i) + j, load(step.gradient.row(i) + j, n) * (1.0f - y * y), n);
    }
  }
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
