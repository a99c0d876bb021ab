// Tensors in files: a safetensors file, the directory of a Hugging Face model, and the manifest of a directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"

namespace attend {

// safetensors files (github.com/huggingface/safetensors): eight bytes of header length, a JSON header, then the bytes
// of the tensors, row-major and little-endian. Files are read by memory map, without a copy, and written atomically.
//
// Files are untrusted: every length, type, shape and offset is checked against the file before use, and the tensors
// must cover the file exactly, without holes or overlaps. Types of less than a byte are not supported.

enum class DType { boolean, u8, i8, f8_e4m3, f8_e5m2, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64 };

// The type's name in a header: "F32".
std::string_view name_of(DType dtype);
std::size_t bytes_of(DType dtype);

// One tensor: bytes.size() is the product of the shape times bytes_of(dtype). An empty shape is a scalar.
struct TensorView {
  std::string name;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

using TensorMetadata = std::map<std::string, std::string>;

class SafetensorsFile {
 public:
  // Throws UserError naming the file and the defect.
  explicit SafetensorsFile(const std::filesystem::path& path);

  // The tensors in the order of their bytes; the views live as long as this object.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const TensorMetadata& metadata() const { return metadata_; }
  // Returns nullptr if the file has no tensor of this name.
  const TensorView* find(std::string_view name) const;

 private:
  MappedFile file_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::size_t, std::less<>> places_;
  TensorMetadata metadata_;
};

// Writes atomically, tensor by tensor. Wider types come first, so that every tensor is aligned to its type; within a
// type the order is kept. Names must be unique.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const TensorMetadata& metadata = {});

// The tensors of a Hugging Face directory: those of model.safetensors, or of the files listed in
// model.safetensors.index.json.
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

// The manifest of a directory that is written once: manifest.json lists each file with its size and XXH3 hash, and is
// written last, so that an incomplete directory is recognised.
//
//   {"version": 1, "files": {"model.safetensors": {"bytes": 33161216, "xxh3": "…32 digits…"}, …}}

// Writes DIRECTORY/manifest.json, which lists every other regular file of the directory.
void write_manifest(const std::filesystem::path& directory);

// Throws UserError naming the first file that is missing or differs from the manifest in size or content, or the
// manifest if it is missing or invalid. Files that it does not list are ignored.
void verify_manifest(const std::filesystem::path& directory);

}  // namespace attend
