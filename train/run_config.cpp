#include "train/run_config.hpp"

#include <ATen/Parallel.h>

#include "core/error.hpp"
#include "models/run/device.hpp"

namespace attend {

void RunConfig::validate(const OptionOrigins& /*origins*/) const {
  if (run.empty() && !dry_run) throw UserError("--run is missing", "name the directory of the run: --run DIR");
}

void RunConfig::resolve() {
  const c10::Device chosen = device_named(device);
  device = chosen.str();
  if (!threads) threads = at::get_num_threads();
  if (precision == TrainingPrecision::automatic) {
    const bool bf16 = precision_for(Precision::automatic, chosen) == Precision::bf16;
    precision = bf16 ? TrainingPrecision::bf16 : TrainingPrecision::fp32;
  }
}

}  // namespace attend
