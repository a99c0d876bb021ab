#include "core/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "core/json.hpp"

namespace attend {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian, and nothing here swaps bytes");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxDimensions = 64;  // LibTorch's own limit
constexpr std::string_view kMetadataKey = "__metadata__";
constexpr int kManifestVersion = 1;
constexpr const char* kManifest = "manifest.json";

struct TypeEntry {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};
constexpr TypeEntry kTypes[] = {
    {DType::boolean, "BOOL", 1},    {DType::u8, "U8", 1},   {DType::i8, "I8", 1},   {DType::f8_e4m3, "F8_E4M3", 1},
    {DType::f8_e5m2, "F8_E5M2", 1}, {DType::u16, "U16", 2}, {DType::i16, "I16", 2}, {DType::f16, "F16", 2},
    {DType::bf16, "BF16", 2},       {DType::u32, "U32", 4}, {DType::i32, "I32", 4}, {DType::f32, "F32", 4},
    {DType::u64, "U64", 8},         {DType::i64, "I64", 8}, {DType::f64, "F64", 8}};

const TypeEntry& entry_of(DType dtype) { return *std::ranges::find(kTypes, dtype, &TypeEntry::dtype); }

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw UserError(where + ": " + what, "the file is damaged, incomplete or not a safetensors file: use another copy");
}

// The bytes of a tensor, or nullopt if the shape exceeds 63 bits. Sizes of zero are left out of the count, so that
// strides computed from the others cannot overflow either.
std::optional<std::uint64_t> checked_bytes(const std::vector<std::int64_t>& shape, std::uint64_t item_bytes) {
  std::int64_t count = item_bytes;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, size, &count)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

// Non-negative integers, each of at most 63 bits.
std::optional<std::vector<std::int64_t>> sizes_of(const nlohmann::json& list, std::size_t most) {
  if (!list.is_array() || list.size() > most) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const nlohmann::json& size : list) {
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
      return std::nullopt;
    }
    sizes.push_back(size.get<std::int64_t>());
  }
  return sizes;
}

TensorView read_entry(const std::string& name, const nlohmann::json& entry, std::span<const std::byte> data,
                      const std::string& file) {
  const std::string where = file + ": tensor " + nlohmann::json(name).dump();
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    refuse(where, "expected exactly dtype, shape and data_offsets");
  }
  const nlohmann::json& dtype = entry["dtype"];
  const auto* const type = std::ranges::find_if(kTypes, [&](const TypeEntry& known) { return dtype == known.name; });
  if (type == std::end(kTypes)) refuse(where, "unknown dtype " + dtype.dump());
  const auto shape = sizes_of(entry["shape"], kMaxDimensions);
  if (!shape) refuse(where, "the shape must be at most 64 non-negative integers");
  const auto offsets = sizes_of(entry["data_offsets"], 2);
  if (!offsets || offsets->size() != 2) refuse(where, "data_offsets must be two non-negative integers");
  const std::uint64_t begin = (*offsets)[0];
  const std::uint64_t end = (*offsets)[1];
  if (begin > end || end > data.size()) {
    refuse(where,
           "bytes " + std::to_string(begin) + " to " + std::to_string(end) + " of " + std::to_string(data.size()));
  }
  const auto bytes = checked_bytes(*shape, type->bytes);
  if (!bytes || *bytes != end - begin) {
    refuse(where, "shape " + entry["shape"].dump() + " of " + std::string(type->name) + " does not match its " +
                      std::to_string(end - begin) + " bytes");
  }
  return {name, type->dtype, *shape, data.subspan(begin, end - begin)};
}

}  // namespace

std::string_view name_of(DType dtype) { return entry_of(dtype).name; }
std::size_t bytes_of(DType dtype) { return entry_of(dtype).bytes; }

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  const std::string file = path.string();
  const std::span<const std::byte> bytes = file_.bytes();
  if (bytes.size() < kLengthBytes) refuse(file, "the file has only " + std::to_string(bytes.size()) + " bytes");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - kLengthBytes) {
    refuse(file, "a header of " + std::to_string(header_bytes) + " bytes in a file of " + std::to_string(bytes.size()));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, header_bytes);
  if (!text.starts_with('{')) refuse(file, "the header is not a JSON object");
  const nlohmann::json header = parse_json(text, file, 3);
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + header_bytes);

  for (const auto& [name, entry] : header.items()) {
    if (name != kMetadataKey) {
      tensors_.push_back(read_entry(name, entry, data, file));
      continue;
    }
    if (!entry.is_object()) refuse(file, "__metadata__ is not an object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) refuse(file, "__metadata__ holds something other than text");
      metadata_.emplace(key, value.get<std::string>());
    }
  }

  // An empty tensor begins where the next one does, so their ends decide the order.
  std::ranges::sort(tensors_, [](const TensorView& left, const TensorView& right) {
    return std::pair(left.bytes.data(), left.bytes.size()) < std::pair(right.bytes.data(), right.bytes.size());
  });
  const std::byte* next = data.data();
  for (const TensorView& tensor : tensors_) {
    if (tensor.bytes.data() != next)
      refuse(file, "a hole or an overlap before tensor " + nlohmann::json(tensor.name).dump());
    next += tensor.bytes.size();
  }
  if (next != data.data() + data.size()) refuse(file, "bytes after the last tensor");
  for (std::size_t i = 0; i < tensors_.size(); ++i) places_.emplace(tensors_[i].name, i);
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &tensors_[found->second];
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const TensorMetadata& metadata) {
  std::vector<const TensorView*> order;
  for (const TensorView& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const TensorView* tensor) { return bytes_of(tensor->dtype); });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  std::set<std::string_view> names = {kMetadataKey};
  std::uint64_t offset = 0;
  for (const TensorView* tensor : order) {
    ensure(names.insert(tensor->name).second, "tensor names are unique: " + tensor->name);
    ensure(checked_bytes(tensor->shape, bytes_of(tensor->dtype)) == tensor->bytes.size(),
           "a tensor's bytes follow from its shape: " + tensor->name);
    const std::uint64_t end = offset + tensor->bytes.size();
    header[tensor->name] = {
        {"dtype", name_of(tensor->dtype)}, {"shape", tensor->shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');

  AtomicFile file(path);
  const std::uint64_t header_bytes = text.size();
  file.write(std::as_bytes(std::span(&header_bytes, 1)));
  file.write(text);
  for (const TensorView* tensor : order) file.write(tensor->bytes);
  file.commit();
}

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

void write_manifest(const fs::path& directory) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (!entry.is_regular_file() || entry.path().filename() == kManifest) continue;
    files[entry.path().filename().string()] = {{"bytes", entry.file_size()}, {"xxh3", hash_hex_of_file(entry.path())}};
  }
  const nlohmann::ordered_json manifest = {{"version", kManifestVersion}, {"files", files}};
  write_file_atomic(directory / kManifest, manifest.dump(1) + "\n");
}

void verify_manifest(const fs::path& directory) {
  const fs::path path = directory / kManifest;
  const std::string name = path.string();
  const nlohmann::json manifest = read_json(path);
  if (const auto version = json_member<std::int64_t>(manifest, "version", name); version != kManifestVersion) {
    throw UserError(name + ": version " + std::to_string(version) + ", expected " + std::to_string(kManifestVersion));
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
