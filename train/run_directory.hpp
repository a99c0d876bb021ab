// The directory of a run: config.toml (all options, resolved), run.json (its origin and inputs), tokenizer/, task.toml
// (for fine-tuning), train.jsonl, TensorBoard events, checkpoints/, best, hyps/, and a lock during training.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "models/run/run.hpp"
#include "train/run_config.hpp"

namespace attend {

// An input of a run: a name such as "the text to learn from", the XXH3 of its content, and its location.
struct Input {
  std::string name;
  std::string hash;
  std::string place;
};
using Inputs = std::vector<Input>;

// True if config.toml has the options of a training, as in an averaged run but not in an imported one.
bool was_trained(const std::filesystem::path& run);

// True if the run exists and is to be resumed. Throws UserError if --resume is never and it exists, if --resume is PATH
// and it does not, or if the directory contains other files.
bool is_resumed(const RunConfig& config);

// Sets `options`, which are those of `config` among others, for a resumed run: its own values, except given values of
// options that may change. Throws UserError naming a given option that differs from the run's and may not change, or if
// config.toml was edited.
void resume_options(BoundOptions& options, const RunConfig& config, const OptionOrigins& origins);

void write_config(const std::filesystem::path& run, const BoundOptions& options);

// Writes a new run: run.json, config.toml, and the files that `save_inputs` writes into its directory (tokenizer/,
// task.toml). On failure none of them is left.
void write_run(RunKind kind, const RunConfig& config, const BoundOptions& options, const Inputs& inputs,
               const std::function<void(const std::filesystem::path&)>& save_inputs);

// Throws UserError naming an input that is missing or differs from the one the run was started with.
void check_same_inputs(const std::filesystem::path& run, const Inputs& inputs);

}  // namespace attend
