// The training loop: batches of a task, gradients, updates; validation, checkpoints and the log at intervals.
//
// The next update depends only on TrainState, the model and the optimiser. A checkpoint stores all three, so a resumed
// run equals an uninterrupted one, bit for bit (on a CPU, with the same number of threads).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/conditions.hpp"
#include "core/log.hpp"
#include "core/options.hpp"
#include "models/layers/norm.hpp"
#include "models/layers/weights_io.hpp"
#include "train/average.hpp"
#include "train/checkpoint.hpp"
#include "train/distributed/gradient_sum.hpp"
#include "train/distributed/ranks.hpp"
#include "train/event_log.hpp"
#include "train/optimiser.hpp"
#include "train/schedule.hpp"
#include "train/task.hpp"

namespace attend {

// Limits are totals over the life of a run, including all resumptions.
struct TrainerConfig {
  std::int64_t seed = 1;
  std::int64_t accumulate = 1;
  double ema = 0;
  std::optional<std::int64_t> max_steps = {};
  std::optional<std::int64_t> max_epochs = {};
  std::optional<Duration> max_time = {};
  std::optional<std::int64_t> valid_every = {};
  std::optional<std::int64_t> save_every = {};
  std::int64_t keep_last = 2;
  std::int64_t keep_best = 1;
  std::optional<std::int64_t> patience = {};
  std::string best_metric = "loss";
  std::int64_t log_every = 50;
  std::int64_t watch = 0;      // not an option of fine-tuning
  std::int64_t processes = 1;  // not an option

  static constexpr std::int64_t kMostSteps = 1'000'000'000;

  // The number of updates in `batches`, the last of which may have fewer batches; at most kMostSteps.
  std::int64_t updates_of(std::int64_t batches) const {
    const std::int64_t of_one = accumulate * processes;
    return std::min(kMostSteps, (batches + of_one - 1) / of_one);
  }

  // `validating`: the condition of options that need validation data.
  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit, const Condition& validating = {}) {
    visit.group("Training");
    visit("seed", self.seed,
          {.help = "random seed of initial weights, data order and dropout",
           .min = 0,
           .max = 9e15,
           .identifies = false,
           .common = true});
    visit("accumulate", self.accumulate,
          {.help = "batches per update and process (gradient accumulation); all of them are in memory at once",
           .min = 1,
           .max = 4096,
           .may_change = true,
           .common = true});
    visit("ema", self.ema,
          {.help = "decay d of a moving average of the weights, such as 0.999; after update t it is "
                   "min(d, (1 + t) / (10 + t)). Validation, the best checkpoint and every use of the run take the "
                   "averaged weights; 0: none",
           .min = 0,
           .max = 0.9999999});
    visit("max-steps", self.max_steps,
          {.help = "total updates of the run, resumptions included; auto: no limit with max-epochs, else by the size "
                   "of the data; three epochs in fine-tuning",
           .min = 1,
           .max = kMostSteps,
           .may_change = true,
           .common = true});
    visit("max-epochs", self.max_epochs,
          {.help = "total epochs of the run, resumptions included; auto: no limit",
           .min = 1,
           .max = 1e6,
           .may_change = true,
           .common = true});
    visit("max-time", self.max_time,
          {.help = "total training time of the run, resumptions included, such as 90s, 45m or 2h; auto: no limit",
           .min = 0,
           .may_change = true,
           .identifies = false,
           .common = true});
    visit("valid-every", self.valid_every,
          {.help = "updates between validations; auto: one epoch; in fine-tuning half an epoch, or more, for at most "
                   "20 validations; in pretraining a quarter of an epoch",
           .min = 1,
           .may_change = true,
           .common = true});
    visit(
        "save-every", self.save_every,
        {.help = "updates between checkpoints; auto: valid-every", .min = 1, .may_change = true, .identifies = false});
    visit("keep-last", self.keep_last,
          {.help = "number of newest checkpoints to keep", .min = 2, .may_change = true, .identifies = false});
    visit("keep-best", self.keep_best,
          {.help = "number of best checkpoints to keep, by --best-metric",
           .min = 1,
           .may_change = true,
           .identifies = false});
    visit("patience", self.patience,
          {.help = "stop after this many validations without improvement; auto: no limit",
           .min = 1,
           .may_change = true,
           .common = true,
           .only = validating});
    visit("best-metric", self.best_metric,
          {.help = "validation metric that selects the best checkpoint, by its name in the log: loss, ppl, bleu, "
                   "accuracy, score, …",
           .placeholder = "NAME",
           .common = true,
           .only = validating});
    visit("log-every", self.log_every,
          {.help = "updates between log lines", .min = 1, .may_change = true, .identifies = false, .common = true});
  }

  template <class Self, class Visitor>
  static void visit_watch(Self& self, Visitor& visit) {
    visit("watch", self.watch,
          {.help = "updates between records of gradients, updates, hidden states and attention by layer; 0: none",
           .min = 0,
           .max = kMostSteps,
           .may_change = true,
           .identifies = false});
  }

  // Throws UserError if best-metric is none of the metrics of validation.
  void check_best_metric(const std::vector<std::string>& metrics, const OptionPlace& place) const;
  // Throws UserError if several processes train a model with batch norms, whose statistics they do not share.
  void refuse_several(NormKind kind, const OptionOrigins& origins) const;
};

// True if a lower value of this validation metric is better.
bool lower_is_better(std::string_view metric);

// The reason why a run ended, as worded in the log.
enum class StopReason { max_steps, max_epochs, max_time, patience };
template <>
inline constexpr auto kEnumNames<StopReason> = std::to_array<EnumName<StopReason>>({
    {StopReason::max_steps, "max-steps reached"},
    {StopReason::max_epochs, "max-epochs reached"},
    {StopReason::max_time, "max-time reached"},
    {StopReason::patience, "no improvement within patience"},
});

class Trainer {
 public:
  // `run` is the run's directory. References must outlive the trainer; `config` and `schedule` must be resolved, with
  // max_steps or max_epochs, and model and optimiser equal on all ranks.
  Trainer(Task& task, Optimiser& optimiser, const TrainerConfig& config, const ScheduleConfig& schedule,
          std::filesystem::path run, Ranks& ranks);

  // Resumes from a checkpoint: loads weights, moments and state.
  void restore(const Checkpoint& checkpoint);

  // Skips the batches of the next update, to get past a loss that is not finite.
  void skip_batches();

  // Trains until a limit is reached. Throws Interrupted after SIGINT, SIGTERM or SIGHUP or if another rank is lost, and
  // UserError if a loss, gradient or running statistic is not finite, after writing the examples of the update to
  // RUN/nonfinite-step-N.json. Except after a lost rank, the last sound state is saved first.
  StopReason train();

  // One forward and backward pass of the largest batch, without an update; requires a single rank. Returns its tokens.
  std::int64_t dry_run();

  const TrainState& state() const { return state_; }

 private:
  // Totals of an update.
  struct Totals {
    std::int64_t tokens = 0;
    std::vector<std::int64_t> counts = {};  // per term
    bool interrupted = false;               // a rank did not get all of its batches
  };

  void sync_flags();
  MicroBatch next_batch();
  Totals count(const std::vector<MicroBatch>& batches, bool interrupted);
  void enter_phase();
  void update();
  void validate();  // the averaged weights, if there are any
  void save();
  void log_interval(const std::vector<LossTerm>& terms, double rate, double norm);
  [[noreturn]] void refuse_nonfinite(const std::vector<MicroBatch>& batches, double loss, double norm,
                                     bool infinite_statistics);

  std::string progress_line(const std::vector<LossTerm>& terms, double rate) const;
  double seconds_left() const;
  NamedTensors averaged() const { return average_ ? average_->weights() : NamedTensors(); }
  bool validation_due() const;
  bool save_wanted() const;
  std::int64_t last_step_of_epochs() const;
  std::int64_t last_step() const;
  double share() const { return static_cast<double>(state_.step) / static_cast<double>(last_step()); }
  bool past_last_epoch(DataPosition position) const;
  std::optional<StopReason> ending() const;

  Task& task_;
  Optimiser& optimiser_;
  const TrainerConfig& config_;
  const ScheduleConfig& schedule_;
  std::filesystem::path run_;
  Ranks& ranks_;
  GradientSum gradients_;
  NamedTensors statistics_;               // running statistics of the model
  std::optional<WeightAverage> average_;  // with --ema
  std::optional<EventLog> log_;           // opened by train(), on the first rank
  ProgressLine progress_;
  TrainState state_;
  std::int64_t saved_ = -1;  // the step of the last checkpoint
  bool changed_ = false;     // since then, other than by an update: validated, or skipped batches
  bool diverged_ = false;    // which is said once
  // State that all ranks share before each update.
  bool stop_ = false, save_request_ = false;
  double seconds_ = 0;  // spent, over the life of the run
  double seconds_before_ = 0;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace attend
