#include "analysis/trained_run.hpp"

#include <fstream>

#include "core/json.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// The directory that records how `run` was trained.
fs::path trained_in(const fs::path& run) {
  const fs::path above = fs::weakly_canonical(run).parent_path();
  const bool is_average =
      !fs::exists(run / "train.jsonl") && fs::exists(above / "train.jsonl") && fs::exists(above / "config.toml");
  return is_average ? above : run;
}

std::optional<double> number(const nlohmann::json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

// Reads the facts of run.json about the training; an imported run has none.
void read_record(TrainedRun& trained) {
  const fs::path file = trained.directory / "run.json";
  if (!fs::exists(file)) return;
  const nlohmann::json record = read_json(file);
  const auto text = [&](const char* key) {
    const auto found = record.find(key);
    return found != record.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  trained.facts.attend = text("attend");
  trained.facts.started = text("started").substr(0, 10);
  if (const auto inputs = record.find("inputs"); inputs != record.end()) {
    for (const auto& [name, hash] : inputs->items()) {
      if (hash.is_string()) trained.inputs.emplace(name, hash.get<std::string>());
    }
  }
}

// The totals and the validations of train.jsonl. A line that was cut off by a crash is skipped.
void read_log(TrainedRun& trained) {
  std::ifstream lines(trained.directory / "train.jsonl");
  CurvePoint now;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!event.is_object() || !event.contains("event") || !number(event, "step")) continue;
    now.update = event["step"];
    if (event["event"] == "train") {
      now.tokens = number(event, "tokens").value_or(now.tokens);
      now.seconds = number(event, "seconds").value_or(now.seconds);
      trained.updates = now.update;
      trained.tokens = static_cast<std::int64_t>(now.tokens);
      trained.seconds = now.seconds;
      if (const auto memory = number(event, "memory_mb")) {
        trained.memory_mb = std::max(trained.memory_mb.value_or(0), *memory);
      }
    } else if (event["event"] == "valid") {
      now.loss = number(event, "loss");
      now.bleu = number(event, "bleu");
      trained.curve.push_back(now);
    }
  }
  if (now.seconds > 0) trained.tokens_per_second = now.tokens / now.seconds;
}

}  // namespace

TrainedRun TrainedRun::load(const fs::path& path, const std::string& checkpoint, torch::Device device) {
  TrainedRun trained{.run = Run::load(path, checkpoint, device)};
  trained.config = read_config<TranslationConfig>(path / "config.toml", UnknownKeys::ignore);
  trained.facts.path = path.string();
  trained.facts.checkpoint = find_weights(path, checkpoint).parent_path().filename().string();
  trained.facts.seed = static_cast<std::int64_t>(trained.config.trainer.seed);
  trained.directory = trained_in(path);
  read_record(trained);
  read_log(trained);
  return trained;
}

}  // namespace attend
