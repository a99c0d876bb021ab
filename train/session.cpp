#include "train/session.hpp"

#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/fast/products.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/device.hpp"
#include "train/checkpoint.hpp"
#include "train/memory_limit.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

std::optional<Checkpoint> checkpoint_to_resume(const RunConfig& config) {
  if (config.resume == "auto") return Checkpoint::newest(config.run);
  Checkpoint checkpoint(config.resume);
  std::error_code absent;
  if (!fs::equivalent(checkpoint.directory(), checkpoint_path(config.run, checkpoint.state().step), absent)) {
    throw UserError("--resume " + config.resume + ": not a checkpoint of the run in " + config.run,
                    "--init-from begins with the weights of another run");
  }
  return checkpoint;
}

std::string_view describe(Ending ending) {
  constexpr std::array<std::pair<Ending, std::string_view>, 4> kWords = {
      {{Ending::max_steps, "max-steps reached"},
       {Ending::max_epochs, "max-epochs reached"},
       {Ending::max_time, "max-time reached"},
       {Ending::patience, "no new best within patience"}}};
  return std::ranges::find(kWords, ending, &std::pair<Ending, std::string_view>::first)->second;
}

// A dropout is no property of the weights.
bool is_of_training(const BoundOption& option) { return option.name.ends_with("dropout"); }

void rehearse(Trainer& trainer) {
  trainer.rehearse();  // the first time pays for memory and for code that is made to measure
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t tokens = trainer.rehearse();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  log::info("dry run: the largest batch has {} tokens and takes {:.2f} s ({:.0f} tok/s); {:.0f} MB of memory", tokens,
            seconds, static_cast<double>(tokens) / seconds, static_cast<double>(peak_resident_bytes()) / 1e6);
}

// UserError where the options ask for what validation does not find.
void check_validation(const Task& task, const TrainerConfig& config, const OptionOrigins& origins) {
  const std::vector<std::string> metrics = task.metrics();
  if (metrics.empty()) {
    config.refuse_validation(origins);
  } else if (std::ranges::find(metrics, config.best_metric) == metrics.end()) {
    throw UserError(origins("best-metric") + ": validation finds no \"" + config.best_metric + "\"",
                    fmt::format("it finds {}", fmt::join(metrics, ", ")));
  }
}

}  // namespace

void adopt_options(const BoundOptions& ours, const BoundOptions& theirs, const OptionOrigins& origins) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!origins.given(ours[i].name) && !is_of_training(ours[i])) ours[i].set(theirs[i].get());
  }
}

void adopt_model_options(const BoundOptions& ours, const BoundOptions& theirs, const std::string& from,
                         const OptionOrigins& origins) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!origins.given(ours[i].name) || is_of_training(ours[i]) || ours[i].get() == theirs[i].get()) continue;
    throw UserError(fmt::format("{}: {}, but the weights of {} have {}", origins(ours[i].name), text_of(ours[i].get()),
                                from, text_of(theirs[i].get())),
                    "leave it out: the options of the model are taken over with the weights");
  }
  adopt_options(ours, theirs, origins);
}

void train(Job& job, const OptionOrigins& origins) {
  signals::install();
  SessionConfig config = job.config();
  RunConfig& run = config.run;
  run.resolve();
  const bool writes = !run.dry_run;
  if (!writes && !run.run.empty() && run.resume != "never" && is_resumed(run)) {
    throw UserError(run.run + ": a dry run goes on with no run", "leave --resume out, or choose another --run");
  }
  const bool resumed = writes && is_resumed(run);
  std::optional<NewDirectories> made;
  std::optional<DirectoryLock> lock;
  if (writes) {
    made.emplace(run.run);
    lock.emplace(run.run);
    const fs::path directory = run.run;  // a process that was killed may have left temporary files in it
    StagedDirectory::remove_leftovers(directory / "checkpoints");
    for (const char* part : {"", "hyps", "tokenizer"}) AtomicFile::remove_all_leftovers(directory / part);
  }
  if (resumed) {
    check_is_run(run.run, job.kind());
    resume_options(config.options, run, origins);
    run.resolve();
  } else if (run.skip_batch) {
    throw UserError(run.run + ": --skip-batch, but there is no run to resume", "leave it out, or add --resume auto");
  } else if (!run.init_from.empty()) {
    job.adopt_model(origins);
  }
  const bool skip_batch = std::exchange(run.skip_batch, false);  // of this call: not recorded
  job.validate(origins);
  at::set_num_threads(static_cast<int>(*run.threads));
  if (run.device == "cpu") refuse_memory_beyond_machine();

  job.load(resumed);
  const std::optional<Checkpoint> checkpoint = resumed ? checkpoint_to_resume(run) : std::nullopt;
  const std::unique_ptr<Task> task = job.make_task(!run.init_from.empty() && !checkpoint);
  torch::nn::Module& model = task->model();
  model.to(torch::Device(run.device));
  warn_of_slow(run.products(), torch::Device(run.device));
  visit_weights(model, [&](ops::Weight& weight) { weight.set_precision(run.products()); });
  check_validation(*task, config.trainer, origins);
  const bool by_clock = config.schedule.end == ScheduleEnd::max_time;
  if (by_clock && !config.trainer.max_steps && !config.trainer.max_epochs) {
    config.trainer.max_steps = TrainerConfig::kMostSteps;
  }
  job.resolve_schedule(*task);
  if (!config.schedule.end) config.schedule.end = ScheduleEnd::max_steps;
  if (checkpoint && *config.trainer.max_steps < checkpoint->state().step) {
    throw UserError(fmt::format("{}: {} updates, but the run in {} has made {}", origins("max-steps"),
                                *config.trainer.max_steps, run.run, checkpoint->state().step),
                    "allow more, or go back to an earlier checkpoint with --resume PATH");
  }
  if (by_clock && !config.trainer.max_time) {
    throw UserError(origins("schedule-end") + ": max-time, but there is none", "give --max-time, such as 90m");
  }
  if (resumed) {
    check_same_inputs(run.run, job.inputs());
    if (checkpoint) check_identity(checkpoint->weights(), task->identity(), run.run);
    write_config(run.run, config.options);
  } else if (writes) {
    write_run(run, config.options, job.inputs(), [&](const fs::path& directory) { job.save_inputs(directory); });
  }
  std::int64_t parameters = 0;
  for (const torch::Tensor& parameter : model.parameters()) parameters += parameter.numel();
  log::info(
      "{} of {:.2f} M parameters, {} on {}, {} threads; {} batches an epoch, {}", job.model_name(),
      static_cast<double>(parameters) / 1e6, name_of(run.precision), run.device, *run.threads,
      task->batches_per_epoch(),
      by_clock ? "as many updates as max-time allows" : fmt::format("{} updates at most", *config.trainer.max_steps));

  ops::products::remember_programs(parameters, task->batches_are_alike());
  AdamW optimiser(model, config.optimiser, [&](const std::string& parameter) { return task->rate_of(parameter); });
  Trainer trainer(*task, optimiser, config.trainer, config.schedule, run.run);
  if (checkpoint) {
    trainer.restore(*checkpoint);
    clear_later_checkpoints(run.run, checkpoint->state().step,
                            run.resume == "auto" ? Later::put_aside : Later::deleted);
    log::info("resuming from {}", checkpoint->directory().string());
    if (skip_batch) trainer.skip_batches();
  }
  with_memory_remedy(job.memory_remedy(), [&] {
    if (run.dry_run) return rehearse(trainer);
    const Ending ending = trainer.train();
    log::info("{} after {} updates; the run is in {}", describe(ending), trainer.state().step, run.run);
  });
}

}  // namespace attend
