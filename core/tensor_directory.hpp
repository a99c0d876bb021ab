// The tensors of a Hugging Face directory: those of model.safetensors, or of the files listed in
// model.safetensors.index.json.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string_view>

#include "core/safetensors.hpp"

namespace attend {

class TensorDirectory {
 public:
  // Throws UserError naming the file that is missing or damaged.
  explicit TensorDirectory(const std::filesystem::path& directory);

  // model.safetensors or the index, for messages.
  const std::filesystem::path& path() const { return path_; }
  // Returns nullptr if no file has a tensor of this name. Views live as long as this object.
  const TensorView* find(std::string_view name) const;
  const std::deque<SafetensorsFile>& files() const { return files_; }
  // The size of all tensors.
  std::uint64_t bytes() const;

 private:
  std::filesystem::path path_;
  std::deque<SafetensorsFile> files_;
};

}  // namespace attend
