#include "models/ops/kernels/packed.hpp"

#include <algorithm>
#include <memory>

#define ATTEND_LOOPS "models/ops/kernels/panels_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

Panels make_panels(const float* weight, std::int64_t outputs, std::int64_t inputs) {
  Panels panels{.outputs = outputs, .inputs = inputs, .numbers = {}};
  panels.numbers.resize(panels.count() * inputs * kWidest);
  for (std::int64_t o = 0; o < outputs; ++o) {
    float* to = panels.numbers.data() + o / kWidest * inputs * kWidest + o % kWidest;
    for (std::int64_t i = 0; i < inputs; ++i) to[i * kWidest] = weight[o * inputs + i];
  }
  return panels;
}

void multiply(const PanelProduct& p, std::int64_t begin, std::int64_t end) { ATTEND_CALL(multiply(p, begin, end)); }

}  // namespace attend::ops::kernels
