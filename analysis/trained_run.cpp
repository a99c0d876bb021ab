#include "analysis/trained_run.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/safetensors.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

bool records_training(const fs::path& run) {
  return fs::exists(run / "train.jsonl") && fs::exists(run / "config.toml");
}

// The member of run.json, if it is a text; else empty.
std::string recorded_text(const nlohmann::json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_string() ? found->get<std::string>() : std::string();
}

nlohmann::json run_record(const fs::path& run) {
  return fs::exists(run / "run.json") ? read_json(run / "run.json") : nlohmann::json::object();
}

// The directory that records how `run` was trained: for an average, the run that its run.json names or that contains
// it.
fs::path trained_in(const fs::path& run) {
  if (records_training(run)) return run;
  for (const fs::path& trained :
       {fs::path(recorded_text(run_record(run), "average_of")), fs::weakly_canonical(run).parent_path()}) {
    if (!trained.empty() && records_training(trained)) return trained;
  }
  return run;
}

std::optional<double> number(const nlohmann::json& event, std::string_view key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

// Reads the facts of run.json about the training; an imported run has none.
void read_run_record(TrainingRecord& trained) {
  const nlohmann::json record = run_record(trained.directory);
  trained.facts.attend = recorded_text(record, "attend");
  trained.facts.started = recorded_text(record, "started").substr(0, 10);
  if (const auto inputs = record.find("inputs"); inputs != record.end()) {
    for (const auto& [name, hash] : inputs->items()) {
      if (hash.is_string()) trained.inputs.emplace(name, hash.get<std::string>());
    }
  }
}

// The tokens and seconds that a training had taken after an update.
struct Taken {
  double tokens = 0;
  double seconds = 0;
};
using TakenByUpdate = std::map<std::int64_t, Taken>;

// Interpolated: a validation may lie between the records, which are of regular updates and of checkpoints.
Taken taken_at(const TakenByUpdate& records, std::int64_t update) {
  const auto next = records.lower_bound(update);
  if (next == records.end()) return records.empty() ? Taken{} : records.rbegin()->second;
  if (next->first == update) return next->second;
  const auto [before, start] = next == records.begin() ? std::pair<const std::int64_t, Taken>{} : *std::prev(next);
  const double share = static_cast<double>(update - before) / static_cast<double>(next->first - before);
  return {.tokens = start.tokens + share * (next->second.tokens - start.tokens),
          .seconds = start.seconds + share * (next->second.seconds - start.seconds)};
}

// The states of the checkpoints that a run still has: the log lacks the totals if training ended between two of its
// regular lines.
void read_states(const fs::path& run, TakenByUpdate& records) {
  for (const std::int64_t step : checkpoint_steps(run)) {
    std::ifstream file(checkpoint_path(run, step) / "state.json");
    const auto state = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (!state.is_object()) continue;  // averages and imported runs have none
    const auto tokens = number(state, "tokens"), seconds = number(state, "seconds");
    if (tokens && seconds) records[step] = {.tokens = *tokens, .seconds = *seconds};
  }
}

// The stacks of a watched update: layers are numbered without a gap.
WatchedUpdate watched_update(std::int64_t step, const nlohmann::json& event) {
  WatchedUpdate update{.update = step};
  for (const char* place : {"encoder", "decoder"}) {
    const auto layers = [&](const char* quantity) {
      std::vector<double> values;
      while (const auto value = number(event, fmt::format("{}/{}.{}", quantity, place, values.size()))) {
        values.push_back(*value);
      }
      return values;
    };
    WatchedStack stack{.place = place, .gradient = layers("gradient"), .rank_one = layers("rank_one")};
    if (!stack.rank_one.empty()) update.stacks.push_back(std::move(stack));
  }
  return update;
}

// The totals, the validations and the watched updates of the log and of the checkpoints. A line that was cut off by a
// crash is skipped.
void read_training(TrainingRecord& trained) {
  std::ifstream lines(trained.directory / "train.jsonl");
  TakenByUpdate records;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!event.is_object() || !event.contains("event") || !number(event, "step")) continue;
    const std::int64_t step = event["step"];
    if (event["event"] == "train") {
      const Taken last = taken_at(records, step);
      records[step] = {.tokens = number(event, "tokens").value_or(last.tokens),
                       .seconds = number(event, "seconds").value_or(last.seconds)};
      if (const auto memory = number(event, "memory_mb")) {
        trained.cost.train_memory_mb = std::max(trained.cost.train_memory_mb.value_or(0), *memory);
      }
    } else if (event["event"] == "valid") {
      CurvePoint& point = trained.curve.emplace_back(CurvePoint{.update = step, .loss = number(event, "loss")});
      for (const auto& [key, value] : event.items()) {
        if (value.is_number() && key != "step" && key != "loss") point.scores.emplace(key, value.get<double>());
      }
    } else if (event["event"] == "watch") {
      if (trained.watched.size() == 2) trained.watched.pop_back();
      trained.watched.push_back(watched_update(step, event));
    }
  }
  if (records.empty() && trained.curve.empty()) return;
  read_states(trained.directory, records);
  if (records.empty()) return;
  for (CurvePoint& point : trained.curve) {
    const Taken taken = taken_at(records, point.update);
    point.tokens = taken.tokens;
    point.seconds = taken.seconds;
  }
  const auto& [updates, all] = *records.rbegin();
  trained.cost.updates = updates;
  trained.cost.tokens = static_cast<std::int64_t>(all.tokens);
  trained.cost.train_seconds = all.seconds;
  if (all.seconds > 0) trained.cost.train_tokens_per_second = all.tokens / all.seconds;
}

// The weights by the name of their checkpoint; those of an average by its steps.
std::string describe_weights(const fs::path& weights) {
  const SafetensorsFile file(weights);
  const auto found = file.metadata().find("mean_of");
  if (found == file.metadata().end()) return weights.parent_path().filename().string();
  std::vector<std::string> steps;
  std::istringstream names(found->second);
  for (std::string name; names >> name;) steps.push_back(name.substr(name.starts_with("step-") ? 5 : 0));
  return fmt::format("average of {} {}", steps.size() == 1 ? "step" : "steps", fmt::join(steps, ", "));
}

// A path outside the run would give another run's weights this one's name.
void refuse_foreign_checkpoint(const fs::path& run, const std::string& checkpoint) {
  if (!is_checkpoint_path(checkpoint) || !fs::exists(checkpoint)) return;
  const fs::path within = fs::weakly_canonical(checkpoint).lexically_relative(fs::weakly_canonical(run));
  if (!within.empty() && *within.begin() != "..") return;
  throw UserError(fmt::format("--checkpoint {}: not a checkpoint of the run {}", checkpoint, run.string()),
                  "give auto, best, last, or the path of a checkpoint that lies in the run");
}

TrainingRecord training_record(const fs::path& path, const std::string& checkpoint, std::int64_t seed) {
  TrainingRecord record{.directory = trained_in(path)};
  record.facts.path = path.string();
  record.facts.checkpoint = describe_weights(find_weights(path, checkpoint));
  record.facts.seed = seed;
  read_run_record(record);
  read_training(record);
  return record;
}

}  // namespace

template <class SomeRun, class Config>
RecordedRun<SomeRun, Config> RecordedRun<SomeRun, Config>::load(const fs::path& path, const std::string& checkpoint,
                                                                torch::Device device) {
  refuse_foreign_checkpoint(path, checkpoint);
  auto run = load_run_as<SomeRun>(path, checkpoint, device);
  const auto config = read_config<Config>(path / "config.toml", UnknownKeys::ignore);
  const std::int64_t seed = config.trainer.seed;
  return {training_record(path, checkpoint, seed), std::move(run), config};
}

template struct RecordedRun<TranslationRun, TranslationConfig>;
template struct RecordedRun<LanguageRun, PretrainingConfig>;
template struct RecordedRun<BertRun, PretrainingConfig>;
template struct RecordedRun<TextRun, FinetuningConfig>;

}  // namespace attend
