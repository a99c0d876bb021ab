#include "cli/training.hpp"

#include "core/signals.hpp"
#include "models/ops/fast/products.hpp"
#include "train/memory_limit.hpp"

namespace attend {

ProcessHooks training_process() {
  signals::install();
  return {.begin =
              [](const RunConfig& config) {
                if (config.device == "cpu") refuse_memory_beyond_machine();
              },
          .model_built = ops::products::set_primitive_cache};
}

}  // namespace attend
