// The loops of panels.cpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

// The accumulators of a tile leave a few registers (of 32 with AVX-512, else 16) for the weights and one input.
constexpr int kVectors = kWidest / kLanes;
constexpr int kTileRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 2;
constexpr int kTilePanels = kLanes == 16 ? 2 : 1;
// Number of row elements (512 KiB) that stay in the second-level cache while all panels are applied. They are copied
// with a gap between rows, since rows a power of two apart would evict each other.
constexpr std::int64_t kBlock = std::int64_t{128} << 10;
constexpr std::int64_t kGap = kWidest;

// One tile of the product. Meanwhile, panels from `next` on come into the second-level cache, unless they are its own.
template <int rows, int panels>
void tile(const PanelProduct& p, const float* x, std::int64_t row, std::int64_t panel, std::int64_t next) {
  const std::int64_t inputs = p.weight.inputs, outputs = p.weight.outputs;
  const float* w = p.weight.numbers.data() + panel * inputs * kWidest;
  const std::int64_t ahead = (next - panel) * inputs * kWidest;
  Floats sums[rows][panels * kVectors] = {};
  for (std::int64_t k = 0; k < inputs; ++k, w += kWidest) {
#pragma GCC unroll 4
    for (int v = 0; v < panels; ++v) __builtin_prefetch(w + ahead + v * inputs * kWidest, 0, 2);
    Floats weights[panels * kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < panels * kVectors; ++v) {
      weights[v] = load(w + v / kVectors * inputs * kWidest + v % kVectors * kLanes);
    }
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r) {
      const Floats input = all(x[r * (inputs + kGap) + k]);
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
  const std::int64_t inputs = p.weight.inputs, stride = inputs + kGap;
  const std::int64_t block = std::max<std::int64_t>(1, kBlock / (kTileRows * inputs)) * kTileRows;
  const auto copies = std::make_unique_for_overwrite<float[]>(std::min(block, p.rows) * stride);
  for (std::int64_t first = 0; first < p.rows; first += block) {
    const std::int64_t last = std::min(first + block, p.rows);
    for (std::int64_t row = first; row < last; ++row) {
      std::copy_n(p.x + row * inputs, inputs, copies.get() + (row - first) * stride);
    }
    for (std::int64_t panel = begin; panel < end; panel += kTilePanels) {
      with_count<kTilePanels>(end - panel, [&](auto panels) {
        // The first tile fetches the next panels. A decoding step has few rows to compute while they arrive.
        std::int64_t next = panel + 2 * kTilePanels <= end ? panel + kTilePanels : panel;
        // Tiles of about equal height: with AVX2, a tile of two rows takes as long as one of four.
        std::int64_t row = first;
        for (std::int64_t tiles = (last - first + kTileRows - 1) / kTileRows; tiles > 0; --tiles) {
          const std::int64_t height = (last - row + tiles - 1) / tiles;
          with_count<kTileRows>(height, [&](auto rows) {
            tile<rows, panels>(p, copies.get() + (row - first) * stride, row, panel, next);
          });
          row += height;
          next = panel;
        }
      });
    }
  }
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
