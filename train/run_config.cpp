#include "train/run_config.hpp"

#include <ATen/Parallel.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/host.hpp"
#include "core/log.hpp"
#include "models/run/device.hpp"
#include "train/distributed/communicator.hpp"

namespace attend {

void RunConfig::validate() const {
  if (run.empty() && !dry_run) throw UserError("--run is missing", "name the directory of the run: --run DIR");
}

void RunConfig::resolve(const Launch& launch) {
  // at::get_num_threads() would be 1 under torchrun, which sets OMP_NUM_THREADS=1.
  const int cores = static_cast<int>(usable_processors());
  if (!threads) threads = launch.several() ? std::max(1, cores / launch.local_size) : at::get_num_threads();
  if (launch.several() && launch.local_rank == 0 && *threads * launch.local_size > cores) {
    log::warn(
        "{} processes of {} threads share the {} cores of this machine and slow each other down; use --threads {}",
        launch.local_size, *threads, cores, std::max(1, cores / launch.local_size));
  }
  if (device == "auto" && launch.several() && device_named("auto").is_cuda()) {
    device = "cuda:" + std::to_string(launch.local_rank);
  }
  const c10::Device chosen = device_named(device);
  device = chosen.str();
  check_backend(backend, chosen.is_cpu());
}

void RunConfig::resolve_precision() {
  if (precision != TrainingPrecision::automatic) return;
  const bool bf16 = precision_for(Precision::automatic, device_named(device)) == Precision::bf16;
  precision = bf16 ? TrainingPrecision::bf16 : TrainingPrecision::fp32;
}

}  // namespace attend
