#include "core/tensor_directory.hpp"

#include <set>
#include <string>

#include "core/error.hpp"
#include "core/json.hpp"

namespace attend {

namespace fs = std::filesystem;

TensorDirectory::TensorDirectory(const fs::path& directory) : path_(directory / "model.safetensors") {
  if (fs::exists(path_)) {
    files_.emplace_back(path_);
    return;
  }
  const fs::path index = directory / "model.safetensors.index.json";
  if (!fs::exists(index)) {
    throw UserError(directory.string() + ": neither model.safetensors nor model.safetensors.index.json",
                    "load the model with transformers and save it there with save_pretrained");
  }
  path_ = index;
  const nlohmann::json json = read_json(index);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) {
    throw UserError(index.string() + ": no object \"weight_map\" of tensors and their files", "use another copy");
  }
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->items()) {
    const fs::path name = file.is_string() ? file.get<std::string>() : std::string();
    if (name.empty() || name != name.filename()) {
      throw UserError(index.string() + ": the file of " + nlohmann::json(tensor).dump() + " is " + file.dump() +
                          ", expected the name of a file in the same directory",
                      "use another copy");
    }
    if (names.insert(name.string()).second) files_.emplace_back(directory / name);
  }
}

const TensorView* TensorDirectory::find(std::string_view name) const {
  for (const SafetensorsFile& file : files_) {
    if (const TensorView* found = file.find(name)) return found;
  }
  return nullptr;
}

std::uint64_t TensorDirectory::bytes() const {
  std::uint64_t bytes = 0;
  for (const SafetensorsFile& file : files_) {
    for (const TensorView& tensor : file.tensors()) bytes += tensor.bytes.size();
  }
  return bytes;
}

}  // namespace attend
