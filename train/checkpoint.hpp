// A checkpoint: RUN/checkpoints/step-N with model.safetensors (fp32), optimizer.safetensors, state.json and
// manifest.json (size and XXH3 of the others). The directory is written under another name, synced and renamed, so it
// is whole or absent; reading verifies it against its manifest. RUN/best holds the name of the best one.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/safetensors.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "train/optimiser.hpp"
#include "train/task.hpp"

namespace attend {

// What a checkpoint remembers beside weights and moments.
struct TrainState {
  struct Score {
    std::int64_t step = 0;
    double value = 0;
  };

  // What the next line of the log is an average of: the updates since the last one.
  struct Interval {
    std::int64_t updates = 0;
    std::int64_t tokens = 0;
    double seconds = 0;                     // in updates, not in validation
    double loss = 0;                        // summed over updates
    std::vector<double> nll = {};           // of each term
    std::vector<std::int64_t> counts = {};  // what it is divided by
  };

  std::int64_t step = 0;             // updates made
  std::int64_t processes = 0;        // that made the last update together; 0: not known
  std::int64_t accumulate = 0;       // batches of each of them in an update
  DataPosition position;             // the next batch
  std::int64_t tokens = 0;           // learnt from
  double seconds = 0;                // spent training, validating and saving
  std::int64_t validated = 0;        // the step of the last validation
  std::int64_t bad_validations = 0;  // since the best
  std::vector<Score> scores = {};    // of checkpoints that are kept, best first
  Interval interval = {};
};

// Weights with their identity, moments, and what the objective remembers. UserError when it cannot be written; nothing
// of it is left then, and earlier checkpoints are as they were.
void save_checkpoint(const std::filesystem::path& run, Task& task, const Optimiser& optimiser, const TrainState& state);

// Records which checkpoint is the best.
void mark_best(const std::filesystem::path& run, std::int64_t step);

// Makes way for a run that resumes from `step`: checkpoints of later steps are deleted where the user went back to an
// earlier one by name, and otherwise renamed, since they were skipped for a fault that may pass. UserError where that
// fails.
enum class Later { put_aside, deleted };
void clear_later_checkpoints(const std::filesystem::path& run, std::int64_t step, Later how);

// Deletes all but the newest `keep_last` and those of `best`; warns of what cannot be deleted.
void remove_old_checkpoints(const std::filesystem::path& run, std::int64_t keep_last,
                            std::span<const std::int64_t> best);

// A checkpoint that was found intact.
class Checkpoint {
 public:
  // UserError naming the file that is missing, damaged or of another version.
  explicit Checkpoint(std::filesystem::path directory);

  // The newest intact one of a run, or nothing where it has none; warns of those that are skipped. UserError when all
  // are.
  static std::optional<Checkpoint> newest(const std::filesystem::path& run);

  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path weights() const { return directory_ / "model.safetensors"; }
  const TrainState& state() const { return state_; }

  // Copies weights and moments in. UserError when a tensor is missing or of another shape, or
  // the state is another optimiser's.
  void load(const torch::nn::Module& model, const Optimiser& optimiser, const NamedTensors& objective = {}) const;

 private:
  std::filesystem::path directory_;
  TrainState state_;
};

}  // namespace attend
