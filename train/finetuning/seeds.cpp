// Fine-tuning with several seeds (--seeds).
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "train/checkpoint.hpp"
#include "train/finetuning/job.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

double best_score(const fs::path& run) {
  const std::optional<Checkpoint> checkpoint = Checkpoint::newest(run);
  if (!checkpoint || checkpoint->state().scores.empty()) {
    throw UserError(run.string() + ": no validation gave a finite score", "see its train.jsonl");
  }
  return checkpoint->state().scores.front().value;
}

// Throws UserError if the directory contains anything but runs of several seeds.
void refuse_all_but_seeds(const fs::path& run) {
  std::error_code missing;
  for (fs::directory_iterator entry(run, missing), end; !missing && entry != end; entry.increment(missing)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("seed-") || name == "seeds.json" || name == "lock" || AtomicFile::is_leftover(name)) continue;
    throw UserError(run.string() + ": already exists and contains " + name, "choose another --run");
  }
}

}  // namespace

void finetune(const FinetuningCommand& command, const OptionOrigins& origins, const ProcessHooks& hooks) {
  if (command.seeds.empty()) return finetune(command.config, origins, hooks);
  const auto [first, last] = seeds_of(command.seeds, origins("seeds"));
  if (hooks.launch.several()) {
    throw UserError(origins("seeds") + ": cannot be combined with several processes",
                    "train one seed after another: --seed N --run DIR");
  }
  if (command.config.run.skip_batch) {
    throw UserError(origins("skip-batch") + ": cannot be combined with --seeds",
                    "resume the one seed: --run RUN/seed-N --skip-batch");
  }
  const fs::path run = command.config.run.run;
  if (fs::exists(run / "config.toml")) {
    throw UserError(run.string() + ": already contains a run of one seed", "choose another --run");
  }
  refuse_all_but_seeds(run);
  const NewDirectories made(run);
  const DirectoryLock lock(run);
  AtomicFile::remove_all_leftovers(run);
  const fs::path record_file = run / "seeds.json";
  if (fs::exists(record_file)) {
    if (command.config.run.resume == "never") {
      throw UserError(run.string() + ": already contains runs of several seeds",
                      "add --resume auto to resume them, or choose another --run");
    }
    using Scores = nlohmann::json::object_t;
    for (const auto& [seed, score] : json_member<Scores>(read_json(record_file), "scores", record_file.string())) {
      const std::int64_t number = std::atoll(seed.c_str());
      if (number >= first && number <= last) continue;
      throw UserError(record_file.string() + ": has seed " + seed + ", which is not in " + command.seeds,
                      "extend --seeds to include it, or choose another --run");
    }
  }
  const bool lower = lower_is_better(command.config.trainer.best_metric);
  std::vector<double> scores;
  for (std::int64_t seed = first; seed <= last; ++seed) {
    FinetuningConfig config = command.config;
    config.trainer.seed = seed;
    config.run.run = (run / ("seed-" + std::to_string(seed))).string();
    log::info("seed {} of {}", seed, command.seeds);
    finetune(config, origins, hooks);
    scores.push_back(best_score(config.run.run));
  }
  const auto n = static_cast<double>(scores.size());
  double mean = 0, squares = 0;
  for (const double score : scores) mean += score / n;
  for (const double score : scores) squares += (score - mean) * (score - mean);
  const double deviation = scores.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  const auto best = lower ? std::ranges::min_element(scores) : std::ranges::max_element(scores);
  nlohmann::ordered_json record = {{"metric", command.config.trainer.best_metric},
                                   {"scores", nlohmann::ordered_json::object()},
                                   {"mean", mean},
                                   {"deviation", deviation},
                                   {"best", first + (best - scores.begin())}};
  for (std::size_t i = 0; i < scores.size(); ++i) record["scores"][std::to_string(first + i)] = scores[i];
  write_file_atomic(record_file, record.dump(1) + "\n");
  log::info("{} over {} seeds: mean {:.4g}, standard deviation {:.2g}; {} stands for seed {}",
            command.config.trainer.best_metric, scores.size(), mean, deviation, run.string(),
            first + (best - scores.begin()));
}

}  // namespace attend
