#include "models/run/checkpoint_reader.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/safetensors.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr const char* kWeights = "model.safetensors";

// The number in a name: 1200 for "step-1200".
std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  name.remove_prefix(kStepPrefix.size());
  const auto step = parse_number<std::int64_t>(name);
  return step && *step >= 0 ? step : std::nullopt;
}

// The step that RUN/best names; nullopt without this file. Throws UserError if it names no checkpoint of the run.
std::optional<std::int64_t> best_step(const fs::path& run, const std::vector<std::int64_t>& steps) {
  const fs::path best = run / "best";
  if (!fs::exists(best)) return std::nullopt;
  std::string name = read_file(best, 1000);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  const auto step = step_of(name);
  if (!step || !std::ranges::binary_search(steps, *step)) {
    throw UserError(best.string() + ": \"" + name + "\" is not a checkpoint of the run", "use --checkpoint last");
  }
  return step;
}

fs::path given_weights(const fs::path& path) {
  if (!fs::is_directory(path)) {
    if (fs::exists(path)) return path;
    throw UserError(path.string() + ": no such checkpoint",
                    "give auto, best, last, step-N of the run, or the path of a checkpoint");
  }
  verify_manifest(path);
  return path / kWeights;
}

}  // namespace

fs::path checkpoint_path(const fs::path& run, std::int64_t step) {
  return run / "checkpoints" / (std::string(kStepPrefix) + std::to_string(step));
}

std::vector<std::int64_t> checkpoint_steps(const fs::path& run) {
  std::vector<std::int64_t> steps;
  if (!fs::exists(run / "checkpoints")) return steps;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "checkpoints")) {
    if (const auto step = step_of(entry.path().filename().string())) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

bool is_checkpoint_path(std::string_view which) {
  return which != "auto" && which != "best" && which != "last" && !step_of(which);
}

fs::path find_weights(const fs::path& run, const std::string& which) {
  std::vector<std::int64_t> candidates = checkpoint_steps(run);  // the last is tried first
  if (const auto step = step_of(which)) {
    if (std::ranges::binary_search(candidates, *step)) return given_weights(checkpoint_path(run, *step));
    throw UserError(run.string() + ": no checkpoint " + which,
                    "`attend info " + run.string() + "` lists its checkpoints");
  }
  if (is_checkpoint_path(which)) return given_weights(which);
  std::string problem;  // why the requested checkpoint is not used
  if (which != "last") {
    try {
      if (const auto best = best_step(run, candidates)) {
        std::erase(candidates, *best);
        candidates.push_back(*best);
      }
    } catch (const UserError& error) {
      if (which == "best") throw;
      problem = error.what();
    }
  }
  for (auto step = candidates.rbegin(); step != candidates.rend(); ++step) {
    const fs::path directory = checkpoint_path(run, *step);
    try {
      verify_manifest(directory);
    } catch (const UserError& error) {
      if (which != "auto") throw UserError(error.what(), "use another checkpoint of the run: --checkpoint PATH");
      if (problem.empty()) problem = error.what();
      continue;
    }
    if (!problem.empty()) log::warn("{}; using {} instead", problem, directory.string());
    return directory / kWeights;
  }
  throw UserError(problem.empty() ? (run / "checkpoints").string() + ": no checkpoints"
                                  : problem + "; no other checkpoint is intact",
                  problem.empty() ? "continue the training with --resume auto"
                                  : "restore one from a backup, or train again with another --run");
}

}  // namespace attend
