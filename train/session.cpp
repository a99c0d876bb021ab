#include "train/session.hpp"

#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>
#include <torch/version.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/device.hpp"
#include "train/checkpoint.hpp"
#include "train/memory_limit.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// Time for another node's write to become visible on a caching file system (NFS).
constexpr std::chrono::seconds kToAppear{35};

constexpr const char* kTooLarge = "the model itself does not fit: lower its width or its number of layers";

// Throws UserError if a run without checkpoints has had some: starting again would overwrite the log of their training.
void refuse_lost_checkpoints(const fs::path& run) {
  const fs::path log = run / "train.jsonl";
  const bool is_logged = fs::exists(log) && read_file(log).find(R"("event":"save")") != std::string::npos;
  if (!is_logged && !fs::exists(run / "best")) return;
  throw UserError(fmt::format("{}: no checkpoints, but {} names some", (run / "checkpoints").string(),
                              is_logged ? log.string() : (run / "best").string()),
                  fmt::format("restore them; to start afresh, delete {} or choose another --run", run.string()));
}

std::optional<Checkpoint> checkpoint_to_resume(const RunConfig& config) {
  if (config.resume == "auto") {
    std::optional<Checkpoint> newest = Checkpoint::newest(config.run);
    if (!newest) refuse_lost_checkpoints(config.run);
    return newest;
  }
  Checkpoint checkpoint(config.resume);
  std::error_code absent;
  if (!fs::equivalent(checkpoint.directory(), checkpoint_path(config.run, checkpoint.state().step), absent)) {
    throw UserError("--resume " + config.resume + ": not a checkpoint of the run in " + config.run,
                    "use --init-from to start from the weights of another run");
  }
  return checkpoint;
}

void dry_run(Trainer& trainer) {
  trainer.dry_run();  // also allocates memory and compiles kernels for these sizes
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t tokens = trainer.dry_run();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  log::info("dry run: the largest batch has {} tokens and takes {:.2f} s ({:.0f} tok/s); {:.0f} MB of memory", tokens,
            seconds, static_cast<double>(tokens) / seconds, static_cast<double>(peak_resident_bytes()) / 1e6);
}

// One training, a method per stage.
class Session {
 public:
  Session(Job& job, const OptionOrigins& origins, const ProcessHooks& hooks)
      : job_(job),
        origins_(origins),
        hooks_(hooks),
        config_(job.config()),
        run_(config_.run),
        ranks_(hooks.launch, run_.backend) {
    config_.trainer.processes = ranks_.size();
  }

  void train();

 private:
  void compare_ranks();    // throws unless all ranks have the same options and their own GPUs
  void open_run();         // locks the directory
  void resolve_options();  // from the command line, a resumed run, and the run of --init-from
  void build();            // text, model and schedule
  void record();           // writes the description of the run into its directory
  void hand_over();        // lets the waiting ranks read the run
  void join_run();         // reads the run as a waiting rank
  void fit();

  bool by_clock() const { return config_.schedule.end == ScheduleEnd::max_time; }
  void resolve_limits();

  Job& job_;
  const OptionOrigins& origins_;
  const ProcessHooks& hooks_;
  SessionConfig config_;
  RunConfig& run_;
  bool resumed_ = false;
  std::optional<NewDirectories> made_;
  std::optional<DirectoryLock> lock_;
  Inputs inputs_;
  std::optional<Checkpoint> checkpoint_;  // to resume from
  std::unique_ptr<Task> task_;
  Ranks ranks_;
};

void Session::train() {
  compare_ranks();
  ranks_.first() ? open_run() : join_run();
  resolve_options();
  build();
  record();
  if (ranks_.several() && ranks_.first()) hand_over();
  if (ranks_.several() && !checkpoint_) {
    for (const auto& [name, tensor] : weights_of(task_->model())) ranks_.from_first(tensor.detach());
    refresh_weights(task_->model());
  }
  fit();
}

// Threads and device may differ between ranks.
void Session::compare_ranks() {
  std::vector<std::pair<std::string, std::string>> values = {{"attend", std::string(version())},
                                                             {"LibTorch", TORCH_VERSION}};
  for (const BoundOption& option : config_.options) {
    if (option.name == "threads" || option.name == "device" || !origins_.given(option.name)) continue;
    values.emplace_back("--" + std::string(option.name), text_of(option.get()));
  }
  ranks_.compare(values);
  run_.resolve(ranks_.launch());
  ranks_.refuse_shared_gpu(run_.device);
}

void Session::open_run() {
  if (run_.dry_run) {
    if (ranks_.several())
      throw UserError("--dry-run: cannot be combined with several processes", "run it with one process");
    if (!run_.run.empty() && run_.resume != "never" && is_resumed(run_)) {
      throw UserError(run_.run + ": --dry-run cannot resume a run", "leave --resume out, or choose another --run");
    }
    return;
  }
  resumed_ = is_resumed(run_);
  made_.emplace(run_.run);
  lock_.emplace(run_.run);
  const fs::path directory = run_.run;  // a killed process may have left temporary files in it
  StagedDirectory::remove_leftovers(directory / "checkpoints");
  for (const char* part : {"", "hyps", "tokenizer"}) AtomicFile::remove_all_leftovers(directory / part);
}

void Session::resolve_options() {
  if (resumed_) {
    check_is_run(run_.run, job_.kind());
    const std::string device = run_.device;
    resume_options(config_.options, run_, origins_);
    if (!ranks_.first()) run_.device = device;  // differs from the first rank's
    run_.resolve(ranks_.launch());
  } else if (run_.skip_batch) {
    throw UserError(run_.run + ": no run to resume with --skip-batch", "leave it out, or add --resume auto");
  } else if (!run_.init_from.empty()) {
    job_.adopt_model(origins_);
  }
  run_.resolve_precision();
  check_required(config_.options, fmt::format("attend {}", command_of(job_.kind())),
                 resumed_ || run_.resume == "never" ? "" : run_.run + " contains no run to resume, and ");
  resolve_optimiser(config_.optimiser, config_.schedule);
  refuse_inapplicable(config_.options, config_.defaults, given_place(origins_), config_.facts());
  job_.validate(origins_);
}

void Session::build() {
  at::set_num_threads(static_cast<int>(*run_.threads));
  hooks_.begin(run_);
  inputs_ = job_.load(resumed_);
  if (resumed_ && ranks_.first()) checkpoint_ = checkpoint_to_resume(run_);
  with_memory_remedy(kTooLarge, [&] {
    task_ = job_.make_task(/*initial_weights=*/!checkpoint_ && ranks_.first());
    task_->model().to(torch::Device(run_.device));
  });
  warn_of_slow(run_.products(), torch::Device(run_.device));
  if (use_tf32(torch::Device(run_.device))) log::info("products of fp32 matrices are computed in TF32");
  visit_weights(task_->model(), [&](ops::Weight& weight) { weight.set_precision(run_.products()); });
  resolve_limits();
}

void Session::resolve_limits() {
  TrainerConfig& trainer = config_.trainer;
  const bool only_time = trainer.max_time && !trainer.max_steps && !trainer.max_epochs;
  // Fine-tuning has another limit: three epochs.
  if (!config_.schedule.end && only_time && job_.kind() != RunKind::finetune) {
    config_.schedule.end = ScheduleEnd::max_time;
  }
  if (by_clock() && !trainer.max_steps && !trainer.max_epochs) trainer.max_steps = TrainerConfig::kMostSteps;
  resolve(trainer, config_.schedule, job_.usual_schedule(*task_));
  if (!config_.schedule.end) config_.schedule.end = ScheduleEnd::max_steps;
  if (!trainer.save_every) trainer.save_every = trainer.valid_every;
  if (checkpoint_ && trainer.max_steps && *trainer.max_steps < checkpoint_->state().step) {
    throw UserError(fmt::format("{}: {}, but the run in {} has made {}", origins_("max-steps"),
                                counted(*trainer.max_steps, "update"), run_.run, fixed(checkpoint_->state().step)),
                    "raise it, or resume from an earlier checkpoint with --resume PATH");
  }
  if (by_clock() && !trainer.max_time) {
    throw UserError(origins_("schedule-end") + ": max-time requires --max-time", "give --max-time, such as 90m");
  }
}

void Session::record() {
  if (run_.dry_run) return;
  if (!resumed_) {
    return write_run(job_.kind(), run_, config_.options, inputs_, [&](const fs::path& run) { job_.save_inputs(run); });
  }
  check_same_inputs(run_.run, inputs_);
  if (checkpoint_) check_identity(checkpoint_->weights(), task_->identity(), run_.run);
  if (!ranks_.first()) return;
  const RunConfig call = run_;
  run_.resume = "auto", run_.skip_batch = false;  // a checkpoint and a batch apply to this call only
  write_config(run_.run, config_.options);
  run_ = call;
}

void Session::hand_over() {
  const nlohmann::json run = {{"record", read_file(fs::path(run_.run) / "run.json")},
                              {"checkpoint", checkpoint_ ? checkpoint_->directory().string() : ""}};
  ranks_.from_first(run.dump());
}

void Session::join_run() {
  const auto run = nlohmann::json::parse(ranks_.from_first(std::string()));
  const fs::path record = fs::path(run_.run) / "run.json";
  const auto end = std::chrono::steady_clock::now() + kToAppear;
  while (!fs::exists(record) && std::chrono::steady_clock::now() < end) {
    signals::throw_if_stopped("stopped before the start of training");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (!fs::exists(record) || read_file(record) != run["record"].get<std::string>()) {
    throw UserError(run_.run + ": the run that rank 0 created there is not visible on this machine",
                    "choose a --run directory that all machines share");
  }
  resumed_ = true;
  if (const std::string checkpoint = run["checkpoint"]; !checkpoint.empty()) checkpoint_.emplace(checkpoint);
}

void Session::fit() {
  torch::nn::Module& model = task_->model();
  const std::int64_t parameters = count_parameters(model);
  const TrainerConfig& limits = config_.trainer;
  const JobDescription description = job_.description();
  const std::string processes = ranks_.several() ? counted(ranks_.size(), "process") + " of " : "";
  log::info("{} of {:.2f} M parameters, {} on {}, {}{}; {} an epoch, {}", description.model,
            static_cast<double>(parameters) / 1e6, name_of(run_.precision), run_.device, processes,
            counted(*run_.threads, "thread"), counted(task_->batches_per_epoch(), "batch"),
            by_clock()         ? "as many updates as max-time allows"
            : limits.max_steps ? counted(*limits.max_steps, "update") + " at most"
                               : counted(*limits.max_epochs, "epoch") + " at most");
  if (ranks_.several()) {
    log::info("gradients are summed by {}", gradient_carrier(run_.backend, torch::Device(run_.device).is_cpu()));
  }
  hooks_.model_built(parameters, task_->batches_are_alike());
  std::unique_ptr<Optimiser> optimiser;
  with_memory_remedy(kTooLarge, [&] {
    optimiser = std::make_unique<Optimiser>(model, config_.optimiser,
                                            [&](const std::string& parameter) { return task_->rate_of(parameter); });
  });
  Trainer trainer(*task_, *optimiser, config_.trainer, config_.schedule, run_.run, ranks_);
  if (checkpoint_) {
    trainer.restore(*checkpoint_);
    if (ranks_.first()) {
      clear_later_checkpoints(run_.run, checkpoint_->state().step,
                              run_.resume == "auto" ? Later::put_aside : Later::deleted);
    }
    log::info("resuming from {}", checkpoint_->directory().string());
    if (run_.skip_batch) trainer.skip_batches();
  }
  with_memory_remedy(description.memory_remedy, [&] {
    if (run_.dry_run) return dry_run(trainer);
    const StopReason ending = trainer.train();
    log::info("{} after {}; the run is in {}", name_of(ending), counted(trainer.state().step, "update"), run_.run);
  });
}

}  // namespace

void train(Job& job, const OptionOrigins& origins, const ProcessHooks& hooks) { Session(job, origins, hooks).train(); }

}  // namespace attend
