#include "train/run_config.hpp"

#include <ATen/Parallel.h>

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/run/device.hpp"

namespace attend {

void RunConfig::validate(const OptionOrigins& origins) const {
  if (run.empty() && !dry_run) throw UserError("--run is missing", "name the directory of the run: --run DIR");
  if (precision == Precision::int8) {
    throw UserError(origins("precision") + ": int8 is for using a model, not for training", "use auto, fp32 or bf16");
  }
}

void RunConfig::resolve() {
  const c10::Device chosen = device_named(device);
  device = chosen.str();
  if (!threads) threads = at::get_num_threads();
  if (precision == Precision::automatic) {
    precision = chosen.is_cuda() || ops::has_native_bf16() ? Precision::bf16 : Precision::fp32;
  }
}

}  // namespace attend
