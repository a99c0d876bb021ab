// The files of a run (run.hpp) that is made without training: imported, averaged or pruned.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/safetensors.hpp"
#include "models/attention/kinds.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {

// Writes RUN/checkpoints/step-N without the state of an optimiser: usable for everything except resuming. `identity`:
// of the weights (run.hpp).
void write_only_checkpoint(const std::filesystem::path& run, const NamedTensors& weights,
                           const TensorMetadata& identity, std::int64_t step = 0);

// Writes RUN/run.json. `record` begins with record_of_kind().
void write_run_record(const std::filesystem::path& run, const nlohmann::ordered_json& record);

// Writes RUN/run.json of `run`, derived from the run `from`, which its member `relation` names. Copies the tokenizers,
// task.toml and embed.toml. Throws UserError if they cannot be read.
void write_derived_run(const std::filesystem::path& run, const std::filesystem::path& from, const char* relation);

// A run without some of the attention heads of another one (Michel, Levy and Neubig 2019, arXiv 1905.10650, section 4):
// its matrices are smaller, and it computes the same as the other with these heads silenced
// (models/attention/edits.hpp).
//
//   12 columns in 3 heads, the second is pruned:  in_proj [36, 12] becomes [24, 12], out_proj [12, 12] becomes [12, 8]

// The places of heads that can be pruned. Throws UserError if there are none: the run is fine-tuned or recurrent, has a
// form of self-attention without heads to cut, or layers that share a block.
std::vector<AttentionPlace> prunable_places(const std::filesystem::path& run);

// Writes the run, with the weights of `checkpoint` (find_weights), without the heads `removed`, to the new directory
// `pruned`. Removed heads are numbered as in the model of `run`; the option pruned-heads in the new config.toml names
// all missing heads, numbered as in the model that was never pruned. Throws UserError as prunable_places does, and
// if a removed head does not exist or is the last of its layer.
void write_pruned_run(const std::filesystem::path& run, const std::string& checkpoint,
                      std::span<const HeadPlace> removed, const std::filesystem::path& pruned);

}  // namespace attend
