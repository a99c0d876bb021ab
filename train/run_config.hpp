// Options common to all kinds of training: the run, its initial weights, device, threads, precision and communication.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/options.hpp"
#include "models/ops/weight.hpp"
#include "train/distributed/launch.hpp"

namespace attend {

// The precisions for training; int8 is for inference only.
enum class TrainingPrecision { automatic, fp32, bf16 };
template <>
inline constexpr auto kEnumNames<TrainingPrecision> = std::to_array<EnumName<TrainingPrecision>>(
    {{TrainingPrecision::automatic, "auto"}, {TrainingPrecision::fp32, "fp32"}, {TrainingPrecision::bf16, "bf16"}});

struct RunConfig {
  std::string run;
  std::string resume = "never";
  std::string init_from = {};
  bool skip_batch = false;
  bool dry_run = false;
  std::string device = "auto";
  std::optional<std::int64_t> threads = {};
  TrainingPrecision precision = TrainingPrecision::automatic;
  CommunicationBackend backend = CommunicationBackend::automatic;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Run");
    visit("run", self.run, {.help = "run directory", .placeholder = "DIR", .may_change = true});
    visit("resume", self.resume,
          {.help = "auto: resume the run if it exists; never: refuse a run that exists; PATH: return to that "
                   "checkpoint of the run and delete later ones",
           .placeholder = "auto|never|PATH",
           .may_change = true});
    visit("skip-batch", self.skip_batch,
          {.help = "with --resume: skip the next batch, whose loss was not finite", .may_change = true});
    visit("init-from", self.init_from, {.help = "initialise from the weights of another run", .placeholder = "RUN"});
    visit("dry-run", self.dry_run,
          {.help = "build everything, run the largest batch, report its time and memory, and exit; nothing is written "
                   "except the cache of encoded text",
           .may_change = true});
    visit("device", self.device,
          {.help = "auto, cpu, cuda or cuda:N; auto: CUDA if available, one GPU per process",
           .placeholder = "NAME",
           .may_change = true});
    visit("threads", self.threads,
          {.help = "compute threads; auto: one per core, divided among the processes of a machine",
           .min = 1,
           .max = 1024,
           .may_change = true});
    visit("backend", self.backend,
          {.help = "communication backend for several processes; auto: nccl if the build and the device support it, "
                   "else gloo",
           .may_change = true});
    visit("precision", self.precision,
          {.help = "precision of matrix products; auto: bf16 if the processor supports it natively, else fp32"});
  }

  // Throws UserError if --run is missing, except in a dry run.
  void validate() const;

  // Resolves device and threads if they are auto; several processes get one GPU each. Throws UserError if the device or
  // the backend is not available.
  void resolve(const Launch& launch);

  // Resolves precision if it is auto, for the resolved device. A resumed run has one, whatever the device.
  void resolve_precision();

  // The resolved `precision`.
  Precision products() const { return precision == TrainingPrecision::bf16 ? Precision::bf16 : Precision::fp32; }
};

}  // namespace attend
