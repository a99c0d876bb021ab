// The loops of panels.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

// The accumulators of a tile leave a few registers (32 of AVX-512, 16 elsewhere) for the weights and one input.
constexpr int kVectors = kWidest / kLanes;
constexpr int kTileRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 2;
constexpr int kTilePanels = kLanes == 16 ? 2 : 1;
// Numbers of the rows that stay near while all panels go over them.
constexpr std::int64_t kBlock = std::int64_t{128} << 10;

// [rows, inputs] as [inputs, rows], so that a tile reads one stream: rows that are a power of two apart would drive
// each other out of the nearest cache.
template <int rows>
void interleave(const float* x, std::int64_t inputs, float* to) {
  for (std::int64_t begin = 0; begin < inputs; begin += kWidest) {
    const std::int64_t end = std::min(begin + kWidest, inputs);
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t k = begin; k < end; ++k) to[k * rows + r] = x[r * inputs + k];
    }
  }
}

template <int rows, int panels>
void tile(const PanelProduct& p, const float* x, std::int64_t row, std::int64_t panel) {
  const std::int64_t inputs = p.weight.inputs, outputs = p.weight.outputs;
  const float* w = p.weight.numbers.data() + panel * inputs * kWidest;
  Floats sums[rows][panels * kVectors] = {};
  for (std::int64_t k = 0; k < inputs; ++k, w += kWidest, x += rows) {
    Floats weights[panels * kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < panels * kVectors; ++v) {
      weights[v] = load(w + v / kVectors * inputs * kWidest + v % kVectors * kLanes);
    }
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r) {
      const Floats input = all(x[r]);
#pragma GCC unroll 4
      for (int v = 0; v < panels * kVectors; ++v) sums[r][v] += input * weights[v];
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < panels * kVectors; ++v) {
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
  const std::int64_t inputs = p.weight.inputs;
  const std::int64_t block = std::max<std::int64_t>(1, kBlock / (kTileRows * inputs)) * kTileRows;
  const auto numbers = std::make_unique_for_overwrite<float[]>(std::min(block, p.rows) * inputs);
  for (std::int64_t first = 0; first < p.rows; first += block) {
    const std::int64_t last = std::min(first + block, p.rows);
    const auto for_tiles = [&](const auto& f) {
      for (std::int64_t row = first; row < last; row += kTileRows) {
        with_count<kTileRows>(last - row, [&](auto rows) { f(rows, row, numbers.get() + (row - first) * inputs); });
      }
    };
    for_tiles([&](auto rows, std::int64_t row, float* x) { interleave<rows>(p.x + row * inputs, inputs, x); });
    for (std::int64_t panel = begin; panel < end; panel += kTilePanels) {
      with_count<kTilePanels>(end - panel, [&](auto panels) {
        for_tiles([&](auto rows, std::int64_t row, const float* x) { tile<rows, panels>(p, x, row, panel); });
      });
    }
  }
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
