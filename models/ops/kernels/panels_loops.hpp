// The loops of panels.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

// The accumulators of a tile leave a few registers (32 of AVX-512, 16 elsewhere) for the weights and one input.
constexpr int kVectors = kWidest / kLanes;
constexpr int kTileRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 2;

template <int rows>
ATTEND_INLINE void tile(const PanelProduct& p, std::int64_t row, std::int64_t panel) {
  const std::int64_t inputs = p.weight.inputs, outputs = p.weight.outputs;
  const float* x = p.x + row * inputs;
  const float* w = p.weight.numbers.data() + panel * inputs * kWidest;
  Floats sums[rows][kVectors] = {};
  for (std::int64_t k = 0; k < inputs; ++k, w += kWidest) {
    Floats weights[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) weights[v] = load(w + v * kLanes);
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r) {
      const Floats input = all(x[r * inputs + k]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] += input * weights[v];
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t o = panel * kWidest + v * kLanes, left = outputs - o;
    const Floats bias = p.bias ? load(p.bias + o, left) : Floats{};
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r) {
      const Floats y = sums[r][v] + bias;
      store(p.y + (row + r) * outputs + o, p.relu ? max(y, Floats{}) : y, left);
    }
  }
}

template <int rows>
void last_rows(const PanelProduct& p, std::int64_t row, std::int64_t panel) {
  if constexpr (rows > 0) {
    if (p.rows - row < rows) return last_rows<rows - 1>(p, row, panel);
    tile<rows>(p, row, panel);
  }
}

void multiply(const PanelProduct& p, std::int64_t begin, std::int64_t end) {
  for (std::int64_t panel = begin; panel < end; ++panel) {
    std::int64_t row = 0;
    for (; row + kTileRows <= p.rows; row += kTileRows) tile<kTileRows>(p, row, panel);
    last_rows<kTileRows - 1>(p, row, panel);
  }
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
