// A run without some of the attention heads of another one (Michel, Levy and Neubig 2019, arXiv 1905.10650, section 4):
// its matrices are smaller, and it computes the same as the other with these heads silenced
// (models/attention/silenced_heads.hpp).
//
//   12 columns in 3 heads, the second is pruned:  in_proj [36, 12] becomes [24, 12], out_proj [12, 12] becomes [12, 8]
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "models/attention/head_place.hpp"

namespace attend {

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
