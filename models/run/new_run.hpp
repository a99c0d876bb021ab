// The files of a run (run.hpp) that is made without training: imported, averaged or pruned.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/safetensors.hpp"
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

}  // namespace attend
