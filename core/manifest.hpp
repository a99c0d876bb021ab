// The manifest of a directory that is written once: manifest.json lists each file with its size and XXH3 hash, and is
// written last, so that an incomplete directory is recognised.
//
//   {"version": 1, "files": {"model.safetensors": {"bytes": 33161216, "xxh3": "…32 digits…"}, …}}
#pragma once

#include <filesystem>

namespace attend {

// Writes DIRECTORY/manifest.json, which lists every other regular file of the directory.
void write_manifest(const std::filesystem::path& directory);

// Throws UserError naming the first file that is missing or differs from the manifest in size or content, or the
// manifest if it is missing or invalid. Files that it does not list are ignored.
void verify_manifest(const std::filesystem::path& directory);

}  // namespace attend
