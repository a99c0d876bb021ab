// A run's directory: config.toml (all options, resolved), run.json (what made it and from what), tokenizer/,
// train.jsonl, TensorBoard events, checkpoints/, best, hyps/, and a lock while somebody trains in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/options.hpp"
#include "data/text/tokenizer_pair.hpp"
#include "train/config.hpp"

namespace attend {

// XXH3 of what a run learns from.
struct DataHashes {
  std::string train;
  std::string valid;  // empty where there is none
};

// Whether --resume leads into a run that exists. UserError where it must not exist, or must and does not.
bool is_resumed(const TrainConfig& config);

// The config that a run goes on with: its own, with what was given now for options that may change. UserError naming an
// option that was given another value than the run has and may not change.
TrainConfig resumed_config(const TrainConfig& given, const OptionOrigins& origins);

// Writes config.toml and, for a new run, run.json and the tokenizers.
void write_config(const TrainConfig& config);
void write_run(const TrainConfig& config, const DataHashes& data, const TokenizerPair& tokenizers);

// UserError naming what is not what the run began with.
void check_same_data(const TrainConfig& config, const DataHashes& data, const TokenizerPair& tokenizers);

}  // namespace attend
