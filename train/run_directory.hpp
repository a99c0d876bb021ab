// A run: the options common to all kinds of training, and its directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "models/ops/weight.hpp"
#include "models/run/kind.hpp"
#include "train/distributed/ranks.hpp"

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
    visit("run", self.run,
          {.help = "run directory", .placeholder = "DIR", .may_change = true, .identifies = false, .common = true});
    visit("resume", self.resume,
          {.help = "auto: resume the run if it exists; never: refuse a run that exists; PATH: return to that "
                   "checkpoint of the run and delete later ones",
           .placeholder = "auto|never|PATH",
           .may_change = true,
           .identifies = false,
           .common = true});
    visit("skip-batch", self.skip_batch,
          {.help = "with --resume: skip the next batch, whose loss was not finite",
           .may_change = true,
           .identifies = false});
    visit("init-from", self.init_from,
          {.help = "initialise from the weights of another run", .placeholder = "RUN", .common = true});
    visit("dry-run", self.dry_run,
          {.help = "build everything, run the largest batch, report its time and memory, and exit; nothing is written "
                   "except the cache of encoded text",
           .may_change = true,
           .identifies = false,
           .common = true});
    visit("device", self.device,
          {.help = "auto, cpu, cuda or cuda:N; auto: CUDA if available, one GPU per process",
           .placeholder = "NAME",
           .may_change = true,
           .identifies = false,
           .common = true});
    visit("threads", self.threads,
          {.help = "compute threads; auto: one per core, divided among the processes of a machine",
           .min = 1,
           .max = 1024,
           .may_change = true,
           .identifies = false,
           .common = true});
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

// The directory of a run: config.toml (all options, resolved), run.json (its origin and inputs), tokenizer/, task.toml
// (for fine-tuning), train.jsonl, TensorBoard events, checkpoints/, best, hyps/, and a lock during training.

// An input of a run: a name such as "the text to learn from", the XXH3 of its content, and its location.
struct Input {
  std::string name;
  std::string hash;
  std::string place;
};
using Inputs = std::vector<Input>;

// True if config.toml has the options of a training, as in an averaged run but not in an imported one.
bool was_trained(const std::filesystem::path& run);

// True if the run exists and is to be resumed. Throws UserError if --resume is never and it exists, if --resume is PATH
// and it does not, or if the directory contains other files.
bool is_resumed(const RunConfig& config);

// Sets `options`, which are those of `config` among others, for a resumed run: its own values, except given values of
// options that may change. Throws UserError naming a given option that differs from the run's and may not change, or if
// config.toml was edited.
void resume_options(BoundOptions& options, const RunConfig& config, const OptionOrigins& origins);

void write_config(const std::filesystem::path& run, const BoundOptions& options);

// Writes a new run: run.json, config.toml, and the files that `save_inputs` writes into its directory (tokenizer/,
// task.toml). On failure none of them is left.
void write_run(RunKind kind, const RunConfig& config, const BoundOptions& options, const Inputs& inputs,
               const std::function<void(const std::filesystem::path&)>& save_inputs);

// Throws UserError naming an input that is missing or differs from the one the run was started with.
void check_same_inputs(const std::filesystem::path& run, const Inputs& inputs);

}  // namespace attend
