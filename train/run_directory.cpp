#include "train/run_directory.hpp"

#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>
#include <torch/version.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "models/run/device.hpp"

namespace attend {

void RunConfig::validate() const {
  if (run.empty() && !dry_run) throw UserError("--run is missing", "name the directory of the run: --run DIR");
}

void RunConfig::resolve(const Launch& launch) {
  // at::get_num_threads() would be 1 under torchrun, which sets OMP_NUM_THREADS=1.
  const int cores = static_cast<int>(usable_processors());
  if (!threads) threads = launch.several() ? std::max(1, cores / launch.local_size) : at::get_num_threads();
  if (launch.several() && launch.local_rank == 0 && *threads * launch.local_size > cores) {
    log::warn(
        "{} processes of {} threads share the {} cores of this machine and slow each other down; use --threads {}",
        launch.local_size, *threads, cores, std::max(1, cores / launch.local_size));
  }
  if (device == "auto" && launch.several() && device_named("auto").is_cuda()) {
    device = "cuda:" + std::to_string(launch.local_rank);
  }
  const c10::Device chosen = device_named(device);
  device = chosen.str();
  check_backend(backend, chosen.is_cpu());
}

void RunConfig::resolve_precision() {
  if (precision != TrainingPrecision::automatic) return;
  const bool bf16 = precision_for(Precision::automatic, device_named(device)) == Precision::bf16;
  precision = bf16 ? TrainingPrecision::bf16 : TrainingPrecision::fp32;
}

namespace {

namespace fs = std::filesystem;

fs::path config_file(const fs::path& run) { return run / "config.toml"; }
fs::path run_file(const fs::path& run) { return run / "run.json"; }

// Throws UserError if the directory contains anything but the traces of a process killed before its run began: a lock,
// and perhaps the first files of the run.
void refuse_foreign_files(const fs::path& run) {
  const bool begun = DirectoryLock::was_held(run);
  std::error_code missing;
  for (fs::directory_iterator entry(run, missing), end; !missing && entry != end; entry.increment(missing)) {
    const std::string name = entry->path().filename().string();
    if (begun && (name == "lock" || name == "config.toml" || name == "tokenizer" || name == "task.toml" ||
                  AtomicFile::is_leftover(name))) {
      continue;
    }
    throw UserError(run.string() + ": already exists and contains " + name,
                    name.starts_with("seed") ? "use --seeds to resume runs of several seeds" : "choose another --run");
  }
}

bool may_not_change(const BoundOption& option) { return !option.traits.may_change; }

// The options of one call rather than of the run: they are taken from the command line.
bool is_of_this_call(const BoundOption& option) {
  return option.name == "run" || option.name == "resume" || option.name == "skip-batch" || option.name == "dry-run";
}

}  // namespace

bool was_trained(const fs::path& run) {
  return !read_config<RunConfig>(config_file(run), UnknownKeys::ignore).run.empty();
}

bool is_resumed(const RunConfig& config) {
  // The run.json of an averaged or imported run has no record of a training.
  const bool exists = fs::exists(run_file(config.run)) && read_json(run_file(config.run)).contains("options");
  if (config.resume == "never" && exists) {
    throw UserError(config.run + ": already contains a run", "add --resume auto to resume it, or choose another --run");
  }
  if (config.resume != "never" && config.resume != "auto" && !exists) {
    throw UserError(config.run + ": not a run that --resume " + config.resume + " could resume",
                    "give --run the directory of the run, and --resume one of its checkpoints");
  }
  if (!exists) refuse_foreign_files(config.run);
  return exists;
}

void resume_options(BoundOptions& options, const RunConfig& config, const OptionOrigins& origins) {
  const fs::path run = config.run;
  std::vector<OptionValue> given, stored;
  for (const BoundOption& option : options) given.push_back(option.get());
  OptionOrigins ignored;
  apply_toml_file(options, config_file(run), ignored);
  const std::string record = run_file(run).string();
  const auto began = json_member<OptionTexts>(read_json(record), "options", record);
  for (const auto& [name, now] : texts_of(options, may_not_change)) {
    const auto then = began.find(name);
    if (then == began.end() || then->second == now) continue;  // an option of a later version keeps its default
    throw UserError(fmt::format("{}: {} is {}, but the run was started with {}: the file was edited or truncated",
                                config_file(run).string(), name, now, then->second),
                    "restore it; give changes on the command line");
  }
  for (const BoundOption& option : options) stored.push_back(option.get());
  std::set<std::string_view> changed;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const BoundOption& option = options[i];
    if (is_of_this_call(option)) option.set(given[i]);
    if (!origins.given(option.name) || given[i] == stored[i] || is_of_this_call(option)) continue;
    if (may_not_change(option)) {
      if (text_of(given[i]) == "auto") continue;  // resolved when the run was started
      const std::string has = text_of(stored[i]);
      throw UserError(fmt::format("{}: {}, but the run in {} has {}", origins(option.name), text_of(given[i]),
                                  run.string(), has.empty() ? "none" : has),
                      "resume with the same value, or start another run from its weights with --init-from");
    }
    option.set(given[i]);
    changed.insert(option.name);
  }
  if (changed.contains("max-epochs") && !origins.given("max-steps")) {
    find_option(options, "max-steps")->set(Auto{});
  }
  if (changed.contains("threads") || changed.contains("device")) {
    log::warn("threads or device have changed: the resumed run will not be bitwise reproducible");
  }
}

void write_config(const fs::path& run, const BoundOptions& options) {
  write_file_atomic(config_file(run), to_toml(options));
}

void write_run(RunKind kind, const RunConfig& config, const BoundOptions& options, const Inputs& inputs,
               const std::function<void(const fs::path&)>& save_inputs) {
  const fs::path run = config.run;
  nlohmann::ordered_json hashes;
  for (const Input& input : inputs) hashes[input.name] = input.hash;
  nlohmann::ordered_json record = record_of_kind(kind);
  record.update({{"attend", version()},
                 {"libtorch", TORCH_VERSION},
                 {"started", now_utc()},
                 {"seed", std::get<std::int64_t>(find_option(options, "seed")->get())},
                 {"threads", config.threads.value()},
                 {"device", config.device},
                 {"precision", name_of(config.precision)},
                 {"options", texts_of(options, may_not_change)},
                 {"inputs", hashes}});
  if (torch::Device(config.device).is_cuda()) record["fp32_products"] = "tf32";
  try {
    save_inputs(run);
    write_config(run, options);
    write_file_atomic(run_file(run), record.dump(1) + "\n");  // last: it marks the run as existing
  } catch (const LostDirectory&) {                            // whatever is there now is not ours to delete
    throw;
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(run / "tokenizer", ignored);
    fs::remove(run / "task.toml", ignored);
    fs::remove(config_file(run), ignored);
    throw;
  }
}

void check_same_inputs(const fs::path& run, const Inputs& inputs) {
  const std::string file = run_file(run).string();
  auto recorded = json_member<std::map<std::string, std::string>>(read_json(file), "inputs", file);
  const std::string remedy = "restore it, or start another run from its weights with --init-from";
  for (const Input& input : inputs) {
    const auto found = recorded.find(input.name);
    if (found == recorded.end() || found->second != input.hash) {
      throw UserError(
          fmt::format("{} ({}) has changed since the run in {} was started", input.name, input.place, run.string()),
          remedy);
    }
    recorded.erase(found);
  }
  if (recorded.empty()) return;
  throw UserError(
      fmt::format("{}, which the run in {} was started with, is missing", recorded.begin()->first, run.string()),
      remedy);
}

}  // namespace attend
