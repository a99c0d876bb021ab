#include "train/trainer.hpp"

#include <ATen/Functions.h>
#include <spdlog/fmt/ranges.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "eval/metrics/translation_metrics.hpp"
#include "models/layers/layers.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "train/memory_limit.hpp"
#include "train/watch.hpp"

namespace attend {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostTerms = 5;  // of a loss

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Forward and backward pass of one batch. `totals` are the counts of the whole update. Returns the weighted loss, then
// the reported value of each term: scalars on the device.
std::vector<torch::Tensor> forward_backward(const MicroBatch& batch, const std::vector<std::int64_t>& totals,
                                            Pass pass) {
  const std::vector<LossSum> sums = batch.forward(pass);
  torch::Tensor objective;
  std::vector<torch::Tensor> scalars(1);
  for (std::size_t t = 0; t < sums.size(); ++t) {
    const double factor = batch.terms[t].weight / static_cast<double>(std::max<std::int64_t>(totals[t], 1));
    const torch::Tensor part = sums[t].loss * factor;
    objective = objective.defined() ? objective + part : part;
    scalars.push_back(sums[t].reported.detach().to(torch::kFloat));
  }
  objective.backward();
  scalars[0] = objective.detach();
  return scalars;
}

}  // namespace

bool lower_is_better(std::string_view metric) {
  const metrics::TextMetric* known = metrics::find_text_metric(metric);
  return known != nullptr ? known->lower_is_better : metric.ends_with("loss") || metric == "ppl";
}

void TrainerConfig::check_best_metric(const std::vector<std::string>& metrics, const OptionPlace& place) const {
  if (std::ranges::find(metrics, best_metric) != metrics.end()) return;
  throw UserError(place("best-metric") + ": no checkpoint is chosen by \"" + best_metric + "\"",
                  fmt::format("choose from {}", fmt::join(metrics, ", ")));
}

void TrainerConfig::refuse_several(NormKind kind, const OptionOrigins& origins) const {
  if (kind != NormKind::batch || processes == 1) return;
  throw UserError(
      fmt::format("{}: batch, but the statistics of {} processes are not summed", origins("norm-kind"), processes),
      "use one process with a larger --accumulate, or --norm-kind layer");
}

Trainer::Trainer(Task& task, Optimiser& optimiser, const TrainerConfig& config, const ScheduleConfig& schedule,
                 std::filesystem::path run, Ranks& ranks)
    : task_(task),
      optimiser_(optimiser),
      config_(config),
      schedule_(schedule),
      run_(std::move(run)),
      ranks_(ranks),
      gradients_(task.model(), ranks),
      statistics_(buffers_of(task.model())) {
  if (config.ema > 0) average_.emplace(task.model(), config.ema);
}

void Trainer::restore(const Checkpoint& checkpoint) {
  checkpoint.load(task_.model(), optimiser_, task_.objective_state(), averaged());
  state_ = checkpoint.state();
  seconds_ = state_.seconds;
  saved_ = state_.step;
  std::erase_if(state_.scores, [&](const TrainState::Score& score) {  // deleted since, when a better one was saved
    return !std::filesystem::exists(checkpoint_path(run_, score.step));
  });
  if (std::ssize(state_.scores) > config_.keep_best) state_.scores.resize(config_.keep_best);
  const auto describe = [](std::int64_t processes, std::int64_t accumulate) {
    return fmt::format("{} of {}", counted(processes, "process"), counted(accumulate, "batch"));
  };
  if (state_.processes == ranks_.size() && state_.accumulate == config_.accumulate) return;
  log::warn("an update was made by {}, and is now made by {}: the run resumes at the same position in the data, but {}",
            describe(state_.processes, state_.accumulate), describe(ranks_.size(), config_.accumulate),
            state_.processes * state_.accumulate == ranks_.size() * config_.accumulate
                ? "the results may differ in the last bits"
                : "the number of batches per update changes");
}

void Trainer::skip_batches() {
  task_.seek(state_.position, ranks_.shard());
  enter_phase();
  const DataPosition from = state_.position;
  for (std::int64_t i = 0; i < config_.accumulate && !past_last_epoch(state_.position); ++i) {
    state_.position = next_batch().after;
  }
  changed_ = save_request_ = true;  // the next batch may have to be skipped, too
  log::warn("skipped from epoch {}, batch {} to epoch {}, batch {}", from.epoch + 1, from.batch + 1,
            state_.position.epoch + 1, state_.position.batch + 1);
}

StopReason Trainer::train() {
  started_ = Clock::now();
  seconds_before_ = state_.seconds;
  state_.processes = ranks_.size();
  state_.accumulate = config_.accumulate;
  if (ranks_.first()) log_.emplace(run_, saved_);
  task_.seek(state_.position, ranks_.shard());
  for (;;) {
    sync_flags();
    if (!stop_ && validation_due()) {
      try {
        validate();
        sync_flags();
      } catch (const Interrupted&) {
        sync_flags();  // the validation is due again after resuming
      }
    }
    const std::optional<StopReason> end = ending();
    if (stop_ || end || save_wanted()) save();
    if (stop_ || end) ranks_.leave();  // everything is saved
    if (stop_) {
      throw Interrupted(fmt::format("interrupted after update {}; saved in {}; --resume auto resumes it", state_.step,
                                    checkpoint_path(run_, state_.step).string()));
    }
    if (end) return *end;
    update();
  }
}

// Agrees with the other ranks on signals and the time.
void Trainer::sync_flags() {
  std::array<double, 3> stop_save_seconds = {signals::stop_requested() ? 1.0 : 0,
                                             signals::take_save_request() ? 1.0 : 0,
                                             ranks_.first() ? seconds_before_ + since(started_) : 0};
  ranks_.sum(stop_save_seconds);
  stop_ = stop_save_seconds[0] > 0;
  save_request_ = save_request_ || stop_save_seconds[1] > 0;
  seconds_ = stop_save_seconds[2];
}

// The next batch of this rank; the position after it is equal on all ranks, and at most the end of the last epoch.
MicroBatch Trainer::next_batch() {
  MicroBatch batch = task_.next();
  if (past_last_epoch(batch.after)) {
    batch.after = {.epoch = *config_.max_epochs, .batch = 0, .phase = batch.after.phase};
  }
  return batch;
}

// Totals over the batches of all ranks. The number of terms is that of the first rank, which has a batch unless
// interrupted.
Trainer::Totals Trainer::count(const std::vector<MicroBatch>& batches, bool interrupted) {
  std::array<double, 3 + kMostTerms> numbers = {};
  numbers.back() = interrupted ? 1 : 0;
  for (const MicroBatch& batch : batches) {
    ensure(batch.terms.size() <= kMostTerms, "a loss has at most kMostTerms terms");
    if (ranks_.first()) numbers[0] = static_cast<double>(batch.terms.size());
    numbers[1] += static_cast<double>(batch.tokens);
    for (std::size_t t = 0; t < batch.terms.size(); ++t) numbers[2 + t] += static_cast<double>(batch.terms[t].count);
  }
  ranks_.sum(numbers);
  return {.tokens = static_cast<std::int64_t>(numbers[1]),
          .counts = {numbers.begin() + 2, numbers.begin() + 2 + static_cast<std::ptrdiff_t>(numbers[0])},
          .interrupted = numbers.back() > 0};
}

// Moves to the first batch of the next update's phase, if that begins with it. Extending a run never re-enters an
// earlier phase.
void Trainer::enter_phase() {
  const std::int64_t phase = task_.phase_at(share());
  if (phase <= state_.position.phase) return;
  state_.position = {.phase = phase};
  task_.seek(state_.position, ranks_.shard());
}

void Trainer::update() {
  const Clock::time_point start = Clock::now();
  const std::int64_t step = state_.step + 1;
  enter_phase();
  std::vector<MicroBatch> batches;
  DataPosition position = state_.position;
  bool interrupted = false;
  try {
    for (std::int64_t i = 0; i < config_.accumulate && !past_last_epoch(position); ++i) {
      MicroBatch batch = next_batch();
      position = batch.after;
      if (!past_last_epoch(batch.position)) batches.push_back(std::move(batch));
    }
  } catch (const Interrupted&) {
    interrupted = true;
  }
  const Totals totals = count(batches, interrupted);
  if (totals.interrupted) return;

  // Every pass updates the running statistics; they are restored if the update is abandoned.
  std::vector<torch::Tensor> before;
  for (const auto& [name, tensor] : statistics_) before.push_back(tensor.clone());
  const auto abandon = [&] {
    for (std::size_t i = 0; i < before.size(); ++i) statistics_[i].second.copy_(before[i]);
  };
  const bool watched = ranks_.first() && config_.watch > 0 && step % config_.watch == 0;
  const std::function<void(Watch&)> show = watched ? batches.front().show : nullptr;

  const double progress = share();
  std::vector<torch::Tensor> scalars;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (i > 0 && !ranks_.several() && signals::stop_requested()) return abandon();
    if (i + 1 == batches.size()) gradients_.begin();
    const std::uint64_t number = i * ranks_.size() + ranks_.rank();
    const std::uint64_t key = combine_keys(config_.seed, step, number);
    const std::vector<torch::Tensor> learnt = forward_backward(batches[i], totals.counts, Pass::train(key, progress));
    scalars.insert(scalars.end(), learnt.begin(), learnt.end());
    batches[i].forward = {}, batches[i].show = {};  // frees its tensors
  }
  gradients_.finish();
  // The loss, the reported value of each term, how many running statistics are not finite, and the norm of the
  // gradient, which the first rank alone adds: in one copy, for which alone an update waits for the device.
  std::vector<double> found(totals.counts.size() + 3);
  const std::size_t of_batches = scalars.size(), place = found.size() - 2;
  for (const auto& [name, tensor] : statistics_)
    scalars.push_back(tensor.isfinite().logical_not().sum().to(at::kFloat));
  const std::size_t of_statistics = scalars.size();
  if (ranks_.first()) scalars.push_back(optimiser_.gradient_norm().to(at::kFloat));
  if (!scalars.empty()) {
    const torch::Tensor values = at::stack(scalars).cpu();
    const float* value = values.const_data_ptr<float>();
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      found[i < of_batches ? i % place : i < of_statistics ? place : place + 1] += value[i];
    }
  }
  ranks_.sum(found);
  const double loss = found.front(), norm = found.back();
  const bool infinite_statistics = found[place] > 0;
  if (!std::isfinite(loss) || !std::isfinite(norm) || infinite_statistics) {
    abandon();
    refuse_nonfinite(batches, loss, norm, infinite_statistics);
  }

  const double rate = learning_rate_at(schedule_, step, last_step());
  std::optional<Watch> watch;
  if (watched) watch.emplace(task_.model());
  optimiser_.step(rate, norm);
  refresh_weights(task_.model());
  if (average_) average_->add(step);
  std::vector<double> means;
  for (std::size_t t = 0; t < totals.counts.size(); ++t) {
    means.push_back(found[1 + t] / static_cast<double>(std::max<std::int64_t>(totals.counts[t], 1)));
  }
  task_.update_made(means);

  state_.step = step;
  state_.position = position;
  state_.tokens += totals.tokens;
  if (!ranks_.first()) return;  // only the first rank reports
  if (watch) {
    const torch::NoGradGuard no_grad;
    watch->update_made();
    show(*watch);
    log_->write("watch", step, watch->values());
  }
  state_.interval.tokens += totals.tokens;
  state_.interval.updates += 1;
  state_.interval.loss += loss;
  state_.interval.seconds += since(start);
  state_.interval.nll.resize(totals.counts.size());
  state_.interval.counts.resize(totals.counts.size());
  for (std::size_t t = 0; t < totals.counts.size(); ++t) {
    state_.interval.nll[t] += found[1 + t];
    state_.interval.counts[t] += totals.counts[t];
  }
  if (progress_.wants_redraw()) {
    progress_.redraw(static_cast<double>(step) / static_cast<double>(last_step()),
                     progress_line(batches.front().terms, rate));
  }
  if (step % config_.log_every == 0) log_interval(batches.front().terms, rate, norm);
}

void Trainer::log_interval(const std::vector<LossTerm>& terms, double rate, double norm) {
  progress_.interval(progress_line(terms, rate));
  constexpr double kDiverged = 20;  // nats per token: more than a guess among 400 million pieces
  if (const double nats = state_.interval.nll[0] / static_cast<double>(state_.interval.counts[0]);
      terms[0].has_perplexity && nats > kDiverged && !std::exchange(diverged_, true)) {
    progress_.clear();
    log::warn(
        "the training has diverged: at update {}, the loss of {} nats per token is far above that of guessing; "
        "start another run with a lower --learning-rate or more --warmup-steps",
        state_.step, four_digits(nats));
  }
  std::vector<std::pair<std::string_view, double>> values = {
      {"epoch", static_cast<double>(state_.position.epoch)},
      {"objective", state_.interval.loss / static_cast<double>(state_.interval.updates)}};
  for (std::size_t t = 0; t < terms.size(); ++t) {
    values.emplace_back(terms[t].name, state_.interval.nll[t] / static_cast<double>(state_.interval.counts[t]));
  }
  values.insert(values.end(),
                {{"learning_rate", rate},
                 {"gradient_norm", norm},
                 {"tokens_per_second", static_cast<double>(state_.interval.tokens) / state_.interval.seconds},
                 {"tokens", static_cast<double>(state_.tokens)},
                 {"seconds", seconds_},
                 {"memory_mb", static_cast<double>(peak_resident_bytes()) * 1e-6}});
  log_->write("train", state_.step, values);
  state_.interval = {};
}

double Trainer::seconds_left() const {
  const double step_seconds = state_.interval.seconds / static_cast<double>(state_.interval.updates);
  const std::int64_t last = config_.max_epochs ? std::min(last_step(), last_step_of_epochs()) : last_step();
  const double left = static_cast<double>(last - state_.step) * step_seconds;
  return config_.max_time ? std::min(left, config_.max_time->seconds - seconds_) : left;
}

std::string Trainer::progress_line(const std::vector<LossTerm>& terms, double rate) const {
  const double loss = state_.interval.nll[0] / static_cast<double>(state_.interval.counts[0]);
  const std::string perplexity = terms[0].has_perplexity ? "  ppl " + fixed(std::exp(loss), 2) : "";
  return fmt::format("step {}/{}  epoch {}  loss {}{}  {} tok/s  lr {:.2e}  left {}", state_.step, last_step(),
                     state_.position.epoch + (state_.position.batch > 0), fixed(loss, 3), perplexity,
                     fixed(static_cast<double>(state_.interval.tokens) / state_.interval.seconds, 0), rate,
                     format_seconds(seconds_left()));
}

void Trainer::validate() {
  progress_.clear();
  std::optional<WeightAverage::InModel> averaged;
  if (average_) averaged.emplace(*average_);
  const std::vector<ValidationMetric> metrics = task_.validate(run_, state_.step, ranks_);
  averaged.reset();
  const bool regular = state_.step % *config_.valid_every == 0;
  state_.validated = state_.step;
  std::vector<std::pair<std::string_view, double>> values;
  std::string line;
  for (const ValidationMetric& metric : metrics) {
    values.emplace_back(metric.name, metric.value);
    line += fmt::format("  {} {}", metric.name, four_digits(metric.value));
    if (metric.name != config_.best_metric) continue;
    const auto better = [&](const TrainState::Score& score) {
      return lower_is_better(metric.name) ? metric.value < score.value : metric.value > score.value;
    };
    const bool finite = std::isfinite(metric.value);
    const auto place = std::find_if(state_.scores.begin(), state_.scores.end(), better);
    const bool best = finite && place == state_.scores.begin();
    if (finite && place - state_.scores.begin() < config_.keep_best) {
      state_.scores.insert(place, {.step = state_.step, .value = metric.value});
      if (std::ssize(state_.scores) > config_.keep_best) state_.scores.pop_back();
    }
    if (best) {
      state_.bad_validations = 0;
      line += "  (best)";
    } else if (regular) {  // a validation at the end of a run that may be continued must not count against it
      ++state_.bad_validations;
    }
  }
  changed_ = true;
  log::info("step {}  valid{}", state_.step, line);
  if (log_) log_->write("valid", state_.step, values);
}

bool Trainer::validation_due() const {
  return state_.step > state_.validated && (state_.step % *config_.valid_every == 0 || ending().has_value()) &&
         !task_.metrics().empty();
}

bool Trainer::save_wanted() const {
  const bool kept_as_best = std::any_of(state_.scores.begin(), state_.scores.end(),
                                        [&](const TrainState::Score& score) { return score.step == state_.step; });
  return (state_.step > 0 && state_.step % *config_.save_every == 0) || kept_as_best || save_request_;
}

void Trainer::save() {
  save_request_ = false;
  if (!ranks_.first()) return;
  state_.seconds = seconds_;
  if (saved_ != state_.step || changed_) {
    progress_.clear();
    save_checkpoint(run_, task_, optimiser_, state_, averaged());
    saved_ = state_.step;
    changed_ = false;
    log_->write("save", state_.step, {});
  }
  if (!state_.scores.empty()) mark_best(run_, state_.scores.front().step);
  remove_old_checkpoints(run_, config_.keep_last, state_.scores);
}

// The update at which the last epoch ends, if all epochs to come have as many batches as expected.
std::int64_t Trainer::last_step_of_epochs() const {
  if (past_last_epoch(state_.position)) return state_.step;
  const std::int64_t epochs = *config_.max_epochs - state_.position.epoch;
  const std::int64_t batches = task_.batches_per_epoch() * epochs - state_.position.batch;
  return state_.step + config_.updates_of(std::max<std::int64_t>(batches, 1));
}

// The update at which schedules end; with schedule-end max-time, that reached at max-time at the speed so far.
std::int64_t Trainer::last_step() const {
  const std::int64_t most = config_.max_steps ? *config_.max_steps : last_step_of_epochs();
  if (schedule_.end != ScheduleEnd::max_time || state_.step == 0) return most;
  const double expected = static_cast<double>(state_.step) / (seconds_ / config_.max_time->seconds);
  return expected < static_cast<double>(most) ? std::max(static_cast<std::int64_t>(expected), state_.step + 1) : most;
}

bool Trainer::past_last_epoch(DataPosition position) const {
  return config_.max_epochs && position.epoch >= *config_.max_epochs;
}

std::optional<StopReason> Trainer::ending() const {
  if (config_.max_steps && state_.step >= *config_.max_steps) return StopReason::max_steps;
  if (past_last_epoch(state_.position)) return StopReason::max_epochs;
  if (config_.max_time && seconds_ >= config_.max_time->seconds) return StopReason::max_time;
  if (config_.patience && state_.bad_validations >= *config_.patience) return StopReason::patience;
  return std::nullopt;
}

void Trainer::refuse_nonfinite(const std::vector<MicroBatch>& batches, double loss, double norm,
                               bool infinite_statistics) {
  const std::int64_t step = state_.step + 1;
  nlohmann::ordered_json own = nlohmann::ordered_json::array();
  for (const MicroBatch& batch : batches) {
    own.push_back({{"epoch", batch.position.epoch}, {"batch", batch.position.batch}, {"examples", batch.examples}});
  }
  nlohmann::ordered_json report = {
      {"step", step}, {"loss", std::to_string(loss)}, {"gradient_norm", std::to_string(norm)}};
  for (const std::string& of_rank : ranks_.gather(own.dump())) {
    for (const auto& batch : nlohmann::ordered_json::parse(of_rank)) report["batches"].push_back(batch);
  }
  if (!ranks_.first()) {
    ranks_.leave();
    throw Interrupted("the loss is not finite");
  }
  const std::filesystem::path file = run_ / fmt::format("nonfinite-step-{}.json", step);
  write_file_atomic(file, report.dump(1) + "\n");
  const DataPosition where = batches.front().position;
  save();
  ranks_.leave();
  throw UserError(
      fmt::format("update {} (epoch {}, batch {}): loss {}, norm of the gradient {}{}; nothing was updated, {} is the "
                  "state before, and {} lists the batch's examples",
                  step, where.epoch + 1, where.batch + 1, loss, norm,
                  infinite_statistics ? ", and running statistics of the norms that are not finite" : "",
                  checkpoint_path(run_, state_.step).string(), file.string()),
      "check these examples; --resume auto --skip-batch continues with the next batch; if the training has diverged, "
      "start another run with a lower --learning-rate, more --warmup-steps or --precision fp32");
}

std::int64_t Trainer::dry_run() {
  const std::vector<MicroBatch> largest = {task_.largest()};
  const Totals totals = count(largest, /*interrupted=*/false);
  const Pass pass = Pass::train(config_.seed);
  forward_backward(largest.front(), totals.counts, pass)[0].item<float>();
  task_.model().zero_grad();
  return totals.tokens;
}

}  // namespace attend
