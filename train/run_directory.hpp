// A run's directory: config.toml (all options, resolved), run.json (what made it and from what), tokenizer/, task.toml
// (of fine-tuning), train.jsonl, TensorBoard events, checkpoints/, best, hyps/, and a lock while somebody trains in it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "models/run/run.hpp"
#include "train/run_config.hpp"

namespace attend {

// Something that a run learns from or with: "the text to learn from", the XXH3 of its content, and where it was found.
struct Input {
  std::string name;
  std::string hash;
  std::string place;
};
using Inputs = std::vector<Input>;

// Whether its options say how the weights were trained, as those of an average do and of an import do not.
bool was_trained(const std::filesystem::path& run);

// Whether --resume leads into a run that exists. UserError where it must not exist, or must and does not, or the
// directory holds something else.
bool is_resumed(const RunConfig& config);

// Sets `options` to those that the run goes on with: its own, with what was given now for options that may change.
// UserError naming an option that was given another value than the run has and may not change, or that the run's config
// was edited. `config` is among what the options refer to.
void resume_options(BoundOptions& options, const RunConfig& config, const OptionOrigins& origins);

void write_config(const std::filesystem::path& run, const BoundOptions& options);

// A new run: run.json, config.toml, and what `save_inputs` writes into its directory (tokenizer/, task.toml); all of it
// or nothing.
void write_run(RunKind kind, const RunConfig& config, const BoundOptions& options, const Inputs& inputs,
               const std::function<void(const std::filesystem::path&)>& save_inputs);

// UserError naming what is not what the run began with.
void check_same_inputs(const std::filesystem::path& run, const Inputs& inputs);

}  // namespace attend
