// What a directory that is written once holds: manifest.json names each file with its size and XXH3, and is written
// last, so that a directory can be told whole from torn.
//
//   {"version": 1, "files": {"model.safetensors": {"bytes": 33161216, "xxh3": "…32 digits…"}, …}}
#pragma once

#include <filesystem>

namespace attend {

// Writes DIRECTORY/manifest.json about every other regular file in it.
void write_manifest(const std::filesystem::path& directory);

// UserError naming the first file that is missing, or of another size or content than the manifest says.
void verify_manifest(const std::filesystem::path& directory);

}  // namespace attend
