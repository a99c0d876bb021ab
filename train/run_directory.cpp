#include "train/run_directory.hpp"

#include <spdlog/fmt/fmt.h>
#include <torch/version.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "core/version.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

fs::path config_file(const TrainConfig& config) { return fs::path(config.run) / "config.toml"; }
fs::path run_file(const TrainConfig& config) { return fs::path(config.run) / "run.json"; }

// UserError when the directory holds anything but what a process leaves that is killed before its run begins: a lock,
// and beside it perhaps the run's first files.
void refuse_foreign_files(const fs::path& run) {
  const bool begun = DirectoryLock::was_held(run);
  if (begun) AtomicFile::remove_leftovers(run);
  std::error_code missing;
  for (fs::directory_iterator entry(run, missing), end; !missing && entry != end; entry.increment(missing)) {
    const std::string name = entry->path().filename().string();
    if (begun && (name == "lock" || name == "config.toml" || name == "tokenizer")) continue;
    throw UserError(run.string() + ": exists and holds " + name, "choose another --run");
  }
}

bool may_not_change(const BoundOption& option) { return !option.traits.may_change; }

}  // namespace

bool is_resumed(const TrainConfig& config) {
  const bool exists = fs::exists(run_file(config));
  if (config.resume == "never" && exists) {
    throw UserError(config.run + ": holds a run already",
                    "add --resume auto to go on with it, or choose another --run");
  }
  if (config.resume != "never" && config.resume != "auto" && !exists) {
    throw UserError(config.run + ": no run that --resume " + config.resume + " could go on with");
  }
  if (!exists) refuse_foreign_files(config.run);
  return exists;
}

TrainConfig resumed_config(const TrainConfig& given, const OptionOrigins& origins) {
  const auto stored = read_config<TrainConfig>(config_file(given));
  const std::string record = run_file(given).string();
  if (json_member<std::string>(read_json(record), "config", record) != hash_of(bind(stored), may_not_change)) {
    throw UserError(config_file(given).string() + " is not what the run began with: it was edited, or is cut short",
                    "bring it back; what may change is given on the command line");
  }
  TrainConfig config = stored;
  const BoundOptions before = bind(stored), wanted = bind(given);
  const BoundOptions now = bind(config);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const OptionValue value = wanted[i].get();
    if (!origins.given(now[i].name) || value == before[i].get()) continue;
    if (!now[i].traits.may_change) {
      if (std::holds_alternative<Auto>(value)) continue;  // it was chosen when the run began
      throw UserError(fmt::format("{}: {}, but the run in {} has {}", origins(now[i].name), text_of(value), given.run,
                                  text_of(before[i].get())),
                      "go on with the same value, or start another run (--init-from takes over its weights)");
    }
    now[i].set(value);
  }
  // What stands for "all of it" or "this one" follows the command line, not the run.
  config.run = given.run;
  config.resume = given.resume;
  config.dry_run = given.dry_run;
  if (config.trainer.max_epochs != stored.trainer.max_epochs && !origins.given("max-steps")) {
    config.trainer.max_steps.reset();
  }
  if (config.threads != stored.threads || config.device != stored.device) {
    log::warn("threads or device are not those that the run had: it goes on, but not bit for bit");
  }
  return config;
}

void write_config(const TrainConfig& config) { write_file_atomic(config_file(config), to_toml(config)); }

void write_run(const TrainConfig& config, const DataHashes& data, const TokenizerPair& tokenizers) {
  const nlohmann::ordered_json record = {
      {"attend", version()},
      {"libtorch", TORCH_VERSION},
      {"started", now_utc()},
      {"seed", config.trainer.seed},
      {"threads", config.threads.value()},
      {"device", config.device},
      {"precision", name_of(config.precision)},
      {"config", hash_of(bind(config), may_not_change)},
      {"data", {{"train", data.train}, {"valid", data.valid}}},
      {"tokenizer", {{"src", tokenizers.src.hash()}, {"tgt", tokenizers.tgt.hash()}}}};
  const fs::path folder = fs::path(config.run) / "tokenizer";
  try {
    tokenizers.save(folder);
    write_config(config);
    write_file_atomic(run_file(config), record.dump(1) + "\n");  // last: it says that the run exists
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    fs::remove(config_file(config), ignored);
    throw;
  }
}

void check_same_data(const TrainConfig& config, const DataHashes& data, const TokenizerPair& tokenizers) {
  const std::string file = run_file(config).string();
  const nlohmann::json record = read_json(file);
  const auto check = [&](const char* group, const char* key, const std::string& now, const std::string& what) {
    const auto hashes = json_member<nlohmann::json>(record, group, file);
    if (json_member<std::string>(hashes, key, file) == now) return;
    throw UserError(fmt::format("{} is not what the run in {} began with", what, config.run),
                    "bring it back, or start another run (--init-from takes over its weights)");
  };
  const auto names = [](const std::vector<std::string>& files) {
    return files.empty() ? std::string("none") : files.front() + " " + files.back();
  };
  check("data", "train", data.train, "the text to learn from (--train " + names(config.train) + ")");
  check("data", "valid", data.valid, "the text to validate on (--valid " + names(config.valid) + ")");
  check("tokenizer", "src", tokenizers.src.hash(), "the tokenizer of the source");
  check("tokenizer", "tgt", tokenizers.tgt.hash(), "the tokenizer of the target");
}

}  // namespace attend
