// A checkpoint: RUN/checkpoints/step-N with model.safetensors (fp32), optimizer.safetensors, state.json and
// manifest.json (size and XXH3 of the others). The directory is written under a temporary name, synced and renamed, so
// it is complete or absent; it is verified against its manifest when read. RUN/best names the best checkpoint.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/safetensors.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "train/optimiser.hpp"
#include "train/task.hpp"

namespace attend {

// The state of training besides weights and moments.
struct TrainState {
  struct Score {
    std::int64_t step = 0;
    double value = 0;
  };

  // The sums behind the next line of the log, over the updates since the last line.
  struct Interval {
    std::int64_t updates = 0;
    std::int64_t tokens = 0;
    double seconds = 0;                     // time in updates, without validation
    double loss = 0;                        // summed over updates
    std::vector<double> nll = {};           // reported values per term
    std::vector<std::int64_t> counts = {};  // denominators of nll
  };

  std::int64_t step = 0;             // updates so far
  std::int64_t processes = 0;        // processes in the last update
  std::int64_t accumulate = 0;       // batches per process in an update
  DataPosition position;             // the next batch
  std::int64_t tokens = 0;           // tokens trained on
  double seconds = 0;                // time in training, validation and saving
  std::int64_t validated = 0;        // the step of the last validation
  std::int64_t bad_validations = 0;  // since the best one
  std::vector<Score> scores = {};    // scores of the kept checkpoints, best first
  Interval interval = {};
};

// Saves the weights with their identity, the moments, and the state of the objective. If training averages its weights,
// model.safetensors stores `average`, and optimizer.safetensors the model's own weights; otherwise `average` is empty.
// Throws UserError if the checkpoint cannot be written; then no part of it is left, and earlier checkpoints are
// unchanged.
void save_checkpoint(const std::filesystem::path& run, Task& task, const Optimiser& optimiser, const TrainState& state,
                     const NamedTensors& average);

// Records the best checkpoint in RUN/best.
void mark_best(const std::filesystem::path& run, std::int64_t step);

// Clears away the checkpoints after `step`, from which a run resumes. They are deleted if the user named that
// checkpoint; if they were skipped because of a fault, perhaps a temporary one, they are renamed. Throws UserError on
// failure.
enum class Later { put_aside, deleted };
void clear_later_checkpoints(const std::filesystem::path& run, std::int64_t step, Later how);

// Deletes all checkpoints but the newest `keep_last` and those of `best`; warns if one cannot be deleted.
void remove_old_checkpoints(const std::filesystem::path& run, std::int64_t keep_last,
                            std::span<const TrainState::Score> best);

// An intact checkpoint.
class Checkpoint {
 public:
  // Throws UserError naming the file that is missing, damaged or of another format version.
  explicit Checkpoint(std::filesystem::path directory);

  // The newest intact checkpoint of a run, or nullopt if it has none; warns about those it skips. Throws UserError if
  // it skips all.
  static std::optional<Checkpoint> newest(const std::filesystem::path& run);

  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path weights() const { return directory_ / "model.safetensors"; }
  const TrainState& state() const { return state_; }

  // Restores the weights, the moments, and the tensors of `objective` and `average`, in place. Throws UserError if a
  // tensor is missing or has another shape, or the state belongs to another optimiser.
  void load(const torch::nn::Module& model, const Optimiser& optimiser, const NamedTensors& objective = {},
            const NamedTensors& average = {}) const;

 private:
  std::filesystem::path directory_;
  TrainState state_;
};

}  // namespace attend
