// The files of a run that is made without a training (run.hpp): imported, averaged or pruned.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/safetensors.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {

// RUN/checkpoints/step-0 without the state of an optimiser: usable for everything except resuming. `identity`: of the
// weights (run.hpp).
void write_only_checkpoint(const std::filesystem::path& run, const NamedTensors& weights,
                           const TensorMetadata& identity);

// RUN/run.json, which begins with record_of_kind().
void write_run_record(const std::filesystem::path& run, const nlohmann::ordered_json& record);

// Copies the tokenizers of one run to another. Throws UserError if they cannot be read.
void copy_tokenizers(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace attend
