#include "cli/training.hpp"

#include <string>

#include "core/log.hpp"
#include "core/signals.hpp"
#include "models/ops/fast/products.hpp"
#include "train/memory_limit.hpp"

namespace attend {

ProcessHooks training_process() {
  signals::install();
  const Launch launch = Launch::from_environment();
  if (launch.rank > 0) log::speak_as("rank " + std::to_string(launch.rank));
  return {.begin =
              [processes = launch.local_size](const RunConfig& config) {
                if (config.device == "cpu") refuse_memory_beyond_machine(processes);
              },
          .model_built = ops::products::set_primitive_cache,
          .launch = launch};
}

}  // namespace attend
