// The loops of panels.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

// The accumulators of a tile leave a few registers (32 of AVX-512, 16 elsewhere) for the weights and one input.
constexpr int kVectors = kWidest / kLanes;
constexpr int kTileRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 2;
// Rows that stay near while all panels go over them.
constexpr std::int64_t kBlockRows = 32 * kTileRows;

template <int rows>
void tile(const PanelProduct& p, std::int64_t row, std::int64_t panel) {
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
      store(p.y + (row + r) * outputs + o, p.relu ? max(Floats{}, y) : y, left);
    }
  }
}

inline void multiply(const PanelProduct& p, std::int64_t begin, std::int64_t end) {
  for (std::int64_t first = 0; first < p.rows; first += kBlockRows) {
    const std::int64_t last = std::min(first + kBlockRows, p.rows);
    for (std::int64_t panel = begin; panel < end; ++panel) {
      for (std::int64_t row = first; row < last; row += kTileRows) {
        with_rows<kTileRows>(last - row, [&](auto rows) { tile<rows>(p, row, panel); });
      }
    }
  }
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
