#include "models/run/kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"

namespace attend {
namespace fs = std::filesystem;

namespace {

// The format of a run's files, raised when those of older programs can no longer be used. In format 1 some options of
// BERT have other names; runs of attend train can still be read.
constexpr std::int64_t kRunFormat = 2;

void check_format(const fs::path& run, const nlohmann::json& record) {
  const auto found = record.find("format");
  if (found != record.end() && *found == kRunFormat) return;
  const bool first = found != record.end() && *found == 1;
  if (first && record.value("kind", nlohmann::json()) == nlohmann::json(name_of(RunKind::train))) return;
  const std::string program = record.is_object() ? record.value("attend", nlohmann::json()).dump() : "null";
  throw UserError(
      fmt::format("{}: {}{}, expected format {}", run.string(),
                  found == record.end() ? "a run without a format number" : "a run of format " + found->dump(),
                  program == "null" ? "" : ", written by attend " + program, kRunFormat),
      first ? "export it with the version of attend that wrote it and import that with this one, or train it again"
            : "use the version of attend that wrote it, or train the model again with this one");
}

}  // namespace

std::string_view command_of(RunKind kind) {
  return kind == RunKind::language ? "pretrain --objective causal or hybrid" : name_of(kind);
}

RunKind kind_of_run(const fs::path& path) {
  const std::string remedy = "give the RUN directory of a training";
  if (!fs::is_directory(path)) {
    throw UserError(path.string() + (fs::exists(path) ? ": not a directory" : ": no such run"), remedy);
  }
  if (!fs::exists(path / "config.toml")) {
    throw UserError(path.string() + ": not a run, config.toml is missing",
                    fs::exists(path / "config.json")
                        ? "import the Hugging Face model first: attend import " + path.string() + " --run RUN"
                        : remedy);
  }
  if (fs::file_size(path / "config.toml") == 0) {
    throw UserError((path / "config.toml").string() + ": an empty file", "restore the original");
  }
  const fs::path record = path / "run.json";
  const nlohmann::json json = fs::exists(record) ? read_json(record) : nlohmann::json::object();
  check_format(path, json);
  const auto name = json_member<std::string>(json, "kind", record.string());
  for (const auto& [kind, known] : kEnumNames<RunKind>) {
    if (known == name) return kind;
  }
  throw UserError(record.string() + ": kind is \"" + name + "\", expected train, pretrain, language or finetune",
                  "use the version of attend that wrote it, or restore the original file");
}

nlohmann::ordered_json record_of_kind(RunKind kind) { return {{"format", kRunFormat}, {"kind", name_of(kind)}}; }

void check_is_run(const fs::path& path, RunKind expected) {
  if (const RunKind found = kind_of_run(path); found != expected) refuse_kind(path, found, expected);
}

void refuse_kind(const fs::path& path, RunKind found, RunKind expected) {
  // A mismatch of two runs of attend pretrain names both objectives.
  const auto command = [](RunKind kind, RunKind other) {
    return kind == RunKind::pretrain && other == RunKind::language ? "pretrain --objective masked or permuted"
                                                                   : command_of(kind);
  };
  throw UserError(fmt::format("{}: a run of attend {}, expected one of attend {}", path.string(),
                              command(found, expected), command(expected, found)),
                  "give the RUN directory of such a training");
}

fs::path run_of_best_seed(const fs::path& run) {
  const fs::path file = run / "seeds.json";
  if (!fs::exists(file)) return run;
  const auto best = json_member<std::uint64_t>(read_json(file), "best", file.string());
  return run / ("seed-" + std::to_string(best));
}

std::vector<fs::path> runs_of_all_seeds(const fs::path& run) {
  const fs::path file = run / "seeds.json";
  if (!fs::exists(file)) return {run};
  std::vector<fs::path> runs;
  using Scores = nlohmann::json::object_t;
  for (const auto& [seed, score] : json_member<Scores>(read_json(file), "scores", file.string())) {
    runs.push_back(run / ("seed-" + seed));
  }
  return runs;
}

FactValue trained_by(const std::string& run) {
  return {std::string(command_of(kind_of_run(run_of_best_seed(run)))), run};
}

void check_identity(const fs::path& weights, const TensorMetadata& expected, const fs::path& run) {
  const SafetensorsFile file(weights);
  std::vector<std::pair<std::string, std::string>> values(expected.begin(), expected.end());
  // The kind of model first: all other options may follow from it.
  std::ranges::stable_partition(values, [](const auto& value) { return value.first == "model.model"; });
  for (const auto& [key, value] : values) {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end() || found->second == value) continue;
    const std::string remedy = "one of them was edited or belongs to another run; restore the original";
    const auto dot = key.find('.');
    if (dot == std::string::npos) {
      throw UserError(weights.string() + " was trained with a different " + key + " than the one in " +
                          (run / "tokenizer").string(),
                      remedy);
    }
    const fs::path options = run / (key.starts_with("task.") ? "task.toml" : "config.toml");
    throw UserError(fmt::format("{}: {} is {}, but {} was trained with {}", options.string(), key.substr(dot + 1),
                                value, weights.string(), found->second),
                    remedy);
  }
}

void add_options(TensorMetadata& identity, const std::string& part, const BoundOptions& options) {
  for (const auto& [name, text] : texts_of(options)) {
    identity.emplace(part + "." + name, text);
  }
}

TensorMetadata hashes_of(const TokenizerPair& tokenizers) {
  return {{"source tokenizer", tokenizers.src.hash()}, {"target tokenizer", tokenizers.tgt.hash()}};
}

TensorMetadata hashes_of(const Tokenizer& tokenizer) { return {{"tokenizer", tokenizer.hash()}}; }

}  // namespace attend
