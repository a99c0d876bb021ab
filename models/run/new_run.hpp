// The files of a run that is made without a training (run.hpp): imported, averaged or pruned.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/safetensors.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {

// RUN/checkpoints/step-N without the state of an optimiser: usable for everything except resuming. `identity`: of the
// weights (run.hpp).
void write_only_checkpoint(const std::filesystem::path& run, const NamedTensors& weights,
                           const TensorMetadata& identity, std::int64_t step = 0);

// RUN/run.json, which begins with record_of_kind().
void write_run_record(const std::filesystem::path& run, const nlohmann::ordered_json& record);

// RUN/run.json of `run`, made of the run `from`, where its training is recorded: the member `relation` names it. Copies
// the tokenizers, and what else its users read: task.toml, embed.toml. Throws UserError if they cannot be read.
void write_derived_run(const std::filesystem::path& run, const std::filesystem::path& from, const char* relation);

}  // namespace attend
