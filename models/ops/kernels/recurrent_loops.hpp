// The loops of recurrent.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

template <class T>
void forward(const CellForward<T>& step, std::int64_t begin, std::int64_t end) {
  const std::int64_t H = step.width;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* input = step.input.row(row);
    const T* product = step.product.data != nullptr ? step.product.row(row) : nullptr;
    T* gates = step.gates.row(row);
    const float* before = step.cell_before.data != nullptr ? step.cell_before.row(row) : nullptr;
    for (std::int64_t j = 0; j < H; j += kLanes) {
      const std::int64_t n = H - j;
      const auto gate = [&](std::int64_t k) __attribute__((always_inline)) {
        const Floats x = load(input + k * H + j, n);
        return product != nullptr ? x + load(product + k * H + j, n) : x;
      };
      const Floats i = sigmoid(gate(0)), f = sigmoid(gate(1)), g = tanh(gate(2)), o = sigmoid(gate(3));
      const Floats c = before != nullptr ? f * load(before + j, n) + i * g : i * g;
      store(gates + j, i, n);
      store(gates + H + j, f, n);
      store(gates + 2 * H + j, g, n);
      store(gates + 3 * H + j, o, n);
      store(step.cell.row(row) + j, c, n);
      store(step.hidden.row(row) + j, o * tanh(c), n);
    }
  }
}

template <class T>
void backward(const CellBackward<T>& step, std::int64_t begin, std::int64_t end) {
  const std::int64_t H = step.width;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* gates = step.gates.row(row);
    const float* before = step.cell_before.data != nullptr ? step.cell_before.row(row) : nullptr;
    float* dcells = step.cell_gradient.row(row);
    T* dgates = step.gate_gradient.row(row);
    for (std::int64_t j = 0; j < H; j += kLanes) {
      const std::int64_t n = H - j;
      const Floats i = load(gates + j, n), f = load(gates + H + j, n), g = load(gates + 2 * H + j, n),
                   o = load(gates + 3 * H + j, n);
      const Floats c = tanh(load(step.cell.row(row) + j, n)), dh = load(step.hidden_gradient.row(row) + j, n);
      const Floats dc = load(dcells + j, n) + dh * o * (1.0f - c * c);
      store(dgates + j, dc * g * i * (1.0f - i), n);
      store(dgates + H + j, before != nullptr ? dc * load(before + j, n) * f * (1.0f - f) : Floats{}, n);
      store(dgates + 2 * H + j, dc * i * (1.0f - g * g), n);
      store(dgates + 3 * H + j, dh * c * o * (1.0f - o), n);
      store(dcells + j, dc * f, n);
    }
  }
}

template <class From, class To>
void copy_each(const CopyRows<From, To>& copy, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const From* from = copy.from.row(copy.from_index != nullptr ? copy.from_index[i] : i);
    To* to = copy.to.row(copy.to_index != nullptr ? copy.to_index[i] : i);
    const std::int64_t row = copy.dropout.active ? copy.rows[i] : 0;
    for (std::int64_t j = 0; j < copy.width; j += kLanes) {
      const std::int64_t n = copy.width - j;
      Floats x = load(from + j, n) * keep(copy.dropout, row, j);
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
