#include "core/manifest.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr int kVersion = 1;
constexpr const char* kName = "manifest.json";

}  // namespace

void write_manifest(const fs::path& directory) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (!entry.is_regular_file() || entry.path().filename() == kName) continue;
    files[entry.path().filename().string()] = {{"bytes", entry.file_size()}, {"xxh3", hash_hex_of_file(entry.path())}};
  }
  const nlohmann::ordered_json manifest = {{"version", kVersion}, {"files", files}};
  write_file_atomic(directory / kName, manifest.dump(1) + "\n");
}

void verify_manifest(const fs::path& directory) {
  const fs::path path = directory / kName;
  const std::string name = path.string();
  const nlohmann::json manifest = read_json(path);
  if (const auto version = json_member<std::int64_t>(manifest, "version", name); version != kVersion) {
    throw UserError(name + ": version " + std::to_string(version) + ", expected " + std::to_string(kVersion));
  }
  const auto files = json_member<nlohmann::json::object_t>(manifest, "files", name);
  for (const auto& [file, expected] : files) {
    if (file != fs::path(file).filename()) throw UserError(name + ": \"" + file + "\" is not a file name");
    const fs::path there = directory / file;
    std::error_code missing;
    const std::uintmax_t size = fs::file_size(there, missing);
    if (missing) throw UserError(there.string() + ": missing or unreadable, but listed in manifest.json");
    if (const auto bytes = json_member<std::uint64_t>(expected, "bytes", name); bytes != size) {
      throw UserError(there.string() + ": " + std::to_string(size) + " bytes, expected " + std::to_string(bytes) +
                      " (manifest.json)");
    }
    if (hash_hex_of_file(there) != json_member<std::string>(expected, "xxh3", name)) {
      throw UserError(there.string() + ": damaged: its checksum differs from manifest.json");
    }
  }
}

}  // namespace attend
