// Finds and verifies the checkpoints of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// The path RUN/checkpoints/step-N.
std::filesystem::path checkpoint_path(const std::filesystem::path& run, std::int64_t step);

// The steps of a run's checkpoints, ascending; they are not verified.
std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& run);

// The model.safetensors of the checkpoint `which`, verified against its manifest:
//   best   the one named by RUN/best; the newest if there is none yet
//   last   the newest
//   step-N the checkpoint of that name
//   PATH   the directory of a checkpoint, or a .safetensors file, which has no manifest
//   auto   best; if that is damaged, the newest intact one, with a warning that names both
// Throws UserError if it is missing or damaged.
std::filesystem::path find_weights(const std::filesystem::path& run, const std::string& which);

// True unless `which` is auto, best, last or step-N.
bool is_checkpoint_path(std::string_view which);

}  // namespace attend
