#include "train/checkpoint.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// Call f(name, value) for the plain values that state.json stores of a state and of its interval.
template <class State, class F>
void for_members(State& state, const F& f) {
  f("step", state.step);
  f("processes", state.processes);
  f("accumulate", state.accumulate);
  f("epoch", state.position.epoch);
  f("batch", state.position.batch);
  f("phase", state.position.phase);
  f("tokens", state.tokens);
  f("seconds", state.seconds);
  f("validated", state.validated);
  f("bad_validations", state.bad_validations);
}
template <class Interval, class F>
void for_members_of_interval(Interval& interval, const F& f) {
  f("updates", interval.updates);
  f("tokens", interval.tokens);
  f("seconds", interval.seconds);
  f("loss", interval.loss);
  f("nll", interval.nll);
  f("counts", interval.counts);
}

nlohmann::ordered_json to_json(const TrainState& state) {
  nlohmann::ordered_json json, interval, scores = nlohmann::ordered_json::array();
  for_members(state, [&](const char* name, const auto& value) { json[name] = value; });
  for_members_of_interval(state.interval, [&](const char* name, const auto& value) { interval[name] = value; });
  for (const TrainState::Score& score : state.scores) scores.push_back({{"step", score.step}, {"value", score.value}});
  json["scores"] = scores;
  json["interval"] = interval;
  return json;
}

TrainState state_of(const fs::path& path) {
  const std::string file = path.string();
  const nlohmann::json json = read_json(path);
  TrainState state;
  for_members(state, [&]<class Number>(const char* name, Number& value) {
    value = json_member<Number>(json, name, file);
    if (value < 0) throw UserError(file + ": " + name + " is negative", "the file was edited or is damaged");
  });
  for (const nlohmann::json& score : json_member<std::vector<nlohmann::json>>(json, "scores", file)) {
    state.scores.push_back(
        {.step = json_member<std::int64_t>(score, "step", file), .value = json_member<double>(score, "value", file)});
  }
  TrainState::Interval& interval = state.interval;
  const auto stored = json_member<nlohmann::json>(json, "interval", file);
  for_members_of_interval(interval, [&]<class Member>(const char* name, Member& value) {
    value = json_member<Member>(stored, name, file);
  });
  if (interval.nll.size() != interval.counts.size() || (interval.updates > 0 && interval.nll.empty())) {
    throw UserError(file + ": \"interval\" has " + std::to_string(interval.nll.size()) + " sums and " +
                        std::to_string(interval.counts.size()) + " counts",
                    "the file was edited or is damaged");
  }
  return state;
}

// The tensors in optimizer.safetensors: the optimiser's state, the objective's, and the trained weights if
// model.safetensors has their average.
NamedTensors remembered(const torch::nn::Module& model, const Optimiser& optimiser, const NamedTensors& objective,
                        bool averages) {
  NamedTensors tensors = optimiser.state();
  for (const auto& [name, tensor] : objective) tensors.emplace_back("objective." + name, tensor);
  for (const auto& [name, tensor] : averages ? weights_of(model) : NamedTensors()) {
    tensors.emplace_back("trained." + name, tensor);
  }
  return tensors;
}

void check_optimiser(const fs::path& path, const Optimiser& optimiser) {
  const std::string ours = optimiser.identity().at("optimiser");
  const SafetensorsFile file(path);
  const auto found = file.metadata().find("optimiser");
  const std::string theirs = found == file.metadata().end() ? "unknown" : found->second;
  if (theirs == ours) return;
  throw UserError(path.string() + ": contains the state of the optimiser " + theirs + ", expected " + ours,
                  "resume with --optimiser " + theirs + ", or start another run from its weights with --init-from");
}

}  // namespace

void save_checkpoint(const fs::path& run, Task& task, const Optimiser& optimiser, const TrainState& state,
                     const NamedTensors& average) {
  const bool averages = !average.empty();
  make_directories(run / "checkpoints");
  StagedDirectory staged(checkpoint_path(run, state.step));
  save_tensors(staged.path() / "model.safetensors", averages ? average : weights_of(task.model()), task.identity());
  save_tensors(staged.path() / "optimizer.safetensors",
               remembered(task.model(), optimiser, task.objective_state(), averages), optimiser.identity());
  write_file_atomic(staged.path() / "state.json", to_json(state).dump(1) + "\n");
  write_manifest(staged.path());
  staged.replace();  // a checkpoint of the same step, before a validation or skipped batches
}

void mark_best(const fs::path& run, std::int64_t step) {
  write_file_atomic(run / "best", checkpoint_path("", step).filename().string() + "\n");
}

void clear_later_checkpoints(const fs::path& run, std::int64_t step, Later how) {
  for (const std::int64_t later : checkpoint_steps(run)) {
    if (later <= step) continue;
    const fs::path path = checkpoint_path(run, later);
    std::error_code error;
    if (how == Later::deleted) {
      log::warn("deleting {}: the run resumes from step {}", path.string(), step);
      fs::remove_all(path, error);
    } else {
      fs::path aside;
      for (int n = 1; n == 1 || fs::exists(aside); ++n) {
        aside = path.parent_path() /
                fmt::format("skipped-{}{}", path.filename().string(), n == 1 ? "" : fmt::format("-{}", n));
      }
      log::warn("{} is kept as {}: the run resumes from step {}", path.string(), aside.string(), step);
      fs::rename(path, aside, error);
    }
    if (error) {
      throw UserError(fmt::format("{}: cannot be {}: {}", path.string(), how == Later::deleted ? "deleted" : "renamed",
                                  error.message()),
                      "move it away: the run will write a checkpoint of that name");
    }
  }
}

void remove_old_checkpoints(const fs::path& run, std::int64_t keep_last, std::span<const TrainState::Score> best) {
  std::vector<std::int64_t> steps = checkpoint_steps(run);
  steps.resize(std::max<std::int64_t>(std::ssize(steps) - keep_last, 0));
  for (const std::int64_t step : steps) {
    if (std::ranges::find(best, step, &TrainState::Score::step) != best.end()) continue;
    std::error_code error;
    fs::remove_all(checkpoint_path(run, step), error);
    if (error) {  // for example a file on NFS that another host has open: no reason to stop training
      log::warn("{}: cannot be deleted: {}", checkpoint_path(run, step).string(), error.message());
    }
  }
}

Checkpoint::Checkpoint(fs::path directory) : directory_(std::move(directory)) {
  verify_manifest(directory_);
  state_ = state_of(directory_ / "state.json");
}

std::optional<Checkpoint> Checkpoint::newest(const fs::path& run) {
  const std::vector<std::int64_t> steps = checkpoint_steps(run);
  if (steps.empty()) return std::nullopt;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    try {
      return Checkpoint(checkpoint_path(run, *step));
    } catch (const UserError& error) {
      log::warn("{}", error.what());
    }
  }
  throw UserError(
      (run / "checkpoints").string() + ": none of the " + std::to_string(steps.size()) + " checkpoints is usable",
      "restore one of them from a backup, or start another run");
}

void Checkpoint::load(const torch::nn::Module& model, const Optimiser& optimiser, const NamedTensors& objective,
                      const NamedTensors& average) const {
  const bool averages = !average.empty();
  load_tensors(weights(), averages ? average : weights_of(model));
  const fs::path file = directory_ / "optimizer.safetensors";
  check_optimiser(file, optimiser);
  load_tensors(file, remembered(model, optimiser, objective, averages));
  refresh_weights(model);
}

}  // namespace attend
