#include "data/corpus/id_cache.hpp"

#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"

namespace attend {
namespace fs = std::filesystem;

namespace {

// The last bytes of KEY.index.
struct Trailer {
  std::uint64_t num_records;
  std::uint64_t num_ids;
  std::array<char, 32> key;
  std::uint32_t record_bytes;
  std::uint32_t summary_bytes;
  std::uint32_t id_bytes;  // 2 or 4
  std::uint32_t version;
  std::uint64_t checksum;  // XXH3 of all of KEY.index before it
  std::array<char, 8> magic;
};

constexpr std::uint32_t kVersion = 2;
constexpr std::array<char, 8> kMagic = {'a', 't', 't', 'c', 'o', 'r', 'p', '2'};
constexpr std::size_t kWriteBytes = std::size_t{1} << 20;

using Bytes = std::span<const std::byte>;

// Gathers small writes.
class BufferedFile {
 public:
  explicit BufferedFile(const fs::path& path) : file_(path) {}

  template <class T>
  void write(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const Bytes bytes = std::as_bytes(values);
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= kWriteBytes) flush();
  }
  void flush() {
    file_.write(Bytes(buffer_));
    buffer_.clear();
  }
  void commit() {
    flush();
    file_.commit();
  }

 private:
  AtomicFile file_;
  std::vector<std::byte> buffer_;
};

class Checksum {
 public:
  Checksum() : state_(XXH3_createState(), &XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
  void update(Bytes bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

// A directory of this process alone.
fs::path temporary_directory() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string path = (parent / "attend-XXXXXX").string();
  if (error || mkdtemp(path.data()) == nullptr) {
    throw UserError("no directory for temporary files (" + path + ")", "set TMPDIR to one that exists");
  }
  return path;
}

std::string hash_of_files(const std::vector<std::string>& files) {
  std::string hashes;
  for (const auto& file : files) hashes += hash_hex_of_file(file) + "\n";
  return hash_hex(std::as_bytes(std::span(hashes)));
}

std::size_t id_bytes_of(const IdCache::Shape& shape) { return shape.vocabulary <= 65536 ? 2 : 4; }

// Writes KEY.ids and KEY.index.
class FileWriter : public IdCache::Writer {
 public:
  FileWriter(const fs::path& stem, const IdCache::Shape& shape)
      : shape_(shape), ids_(fs::path(stem) += ".ids"), index_(fs::path(stem) += ".index") {}

  void commit(const std::string& key) {
    ensure(summary_.size() == shape_.summary_bytes, "the summary is set");
    add_to_index(summary_);
    Trailer trailer{.num_records = num_records_,
                    .num_ids = num_ids_,
                    .key = {},
                    .record_bytes = static_cast<std::uint32_t>(shape_.record_bytes),
                    .summary_bytes = static_cast<std::uint32_t>(shape_.summary_bytes),
                    .id_bytes = static_cast<std::uint32_t>(id_bytes_of(shape_)),
                    .version = kVersion,
                    .checksum = 0,
                    .magic = kMagic};
    std::copy(key.begin(), key.end(), trailer.key.begin());
    checksum_.update(std::as_bytes(std::span(&trailer, 1)).first(offsetof(Trailer, checksum)));
    trailer.checksum = checksum_.value();
    index_.write(std::span<const Trailer>(&trailer, 1));
    ids_.commit();
    index_.commit();
  }

 protected:
  void write_ids(std::span<const std::int32_t> ids) override {
    num_ids_ += ids.size();
    if (id_bytes_of(shape_) == 4) return ids_.write(ids);
    narrow_.assign(ids.begin(), ids.end());
    ids_.write(std::span<const std::uint16_t>(narrow_));
  }
  void write_record(Bytes record) override {
    ensure(record.size() == shape_.record_bytes, "records are of one size");
    ++num_records_;
    add_to_index(record);
  }
  void write_summary(Bytes summary) override { summary_.assign(summary.begin(), summary.end()); }

 private:
  void add_to_index(Bytes bytes) {
    index_.write(bytes);
    checksum_.update(bytes);
  }

  IdCache::Shape shape_;
  BufferedFile ids_;
  BufferedFile index_;
  Checksum checksum_;
  std::vector<std::uint16_t> narrow_;
  std::vector<std::byte> summary_;
  std::uint64_t num_records_ = 0;
  std::uint64_t num_ids_ = 0;
};

}  // namespace

fs::path IdCache::default_directory() {
  if (const char* xdg = getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/') return fs::path(xdg) / "attend";
  if (const char* home = getenv("HOME"); home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "attend";
  return {};
}

IdCache IdCache::open(const std::vector<std::string>& files, const std::string& ingredients, const Shape& shape,
                      const fs::path& directory, const std::function<void(Writer&)>& encode) {
  const std::string content = hash_of_files(files);
  const std::string everything = content + " " + ingredients + " " + std::to_string(kVersion);
  const std::string key = hash_hex(std::as_bytes(std::span(everything)));
  if (auto cache = read(directory / key, key, shape)) {
    cache->content_hash_ = content;
    return std::move(*cache);
  }

  std::error_code error;
  fs::create_directories(directory, error);
  const bool kept = !error && access(directory.c_str(), W_OK) == 0;
  const fs::path place = kept ? directory : temporary_directory();
  if (kept) {
    AtomicFile::remove_leftovers(directory);
  } else {
    log::warn("{} cannot be written to: the encoded text is not kept for the next run",
              directory.empty() ? "the cache" : directory.string());
  }
  const fs::path stem = place / key;
  const auto clean_up = [&] {
    if (!kept) fs::remove_all(place, error);  // what is mapped stays until it is let go
  };
  try {
    FileWriter writer(stem, shape);
    encode(writer);
    if (hash_of_files(files) != content) {
      throw UserError(files.front() + " or a file beside it changed while it was read",
                      "start again when nobody writes it");
    }
    writer.commit(key);
    auto cache = read(stem, key, shape);
    clean_up();
    ensure(cache.has_value(), "a cache that was just written is valid");
    cache->content_hash_ = content;
    cache->found_ = false;
    return std::move(*cache);
  } catch (...) {
    clean_up();
    throw;
  }
}

std::optional<IdCache> IdCache::read(const fs::path& stem, const std::string& key, const Shape& shape) {
  const fs::path ids_path = fs::path(stem) += ".ids";
  const fs::path index_path = fs::path(stem) += ".index";
  std::error_code error;
  if (!fs::exists(ids_path, error) || !fs::exists(index_path, error)) return std::nullopt;
  IdCache cache{MappedFile(ids_path), MappedFile(index_path)};
  const Bytes index = cache.index_.bytes();
  if (index.size() < sizeof(Trailer) + shape.summary_bytes) return std::nullopt;
  const std::size_t records = index.size() - sizeof(Trailer) - shape.summary_bytes;
  if (records == 0 || records % shape.record_bytes != 0) return std::nullopt;
  const auto& trailer = *reinterpret_cast<const Trailer*>(index.last(sizeof(Trailer)).data());
  if (trailer.magic != kMagic || trailer.version != kVersion || trailer.record_bytes != shape.record_bytes ||
      trailer.summary_bytes != shape.summary_bytes || trailer.id_bytes != id_bytes_of(shape) ||
      !std::equal(key.begin(), key.end(), trailer.key.begin(), trailer.key.end()) ||
      trailer.num_records != records / shape.record_bytes) {
    return std::nullopt;
  }
  Checksum checksum;
  checksum.update(index.first(index.size() - sizeof(Trailer) + offsetof(Trailer, checksum)));
  if (checksum.value() != trailer.checksum) return std::nullopt;
  const std::size_t ids_bytes = cache.ids_.bytes().size();
  if (ids_bytes % trailer.id_bytes != 0 || ids_bytes / trailer.id_bytes != trailer.num_ids) return std::nullopt;
  cache.ids_path_ = ids_path;
  cache.shape_ = shape;
  cache.num_records_ = trailer.num_records;
  cache.num_ids_ = trailer.num_ids;
  cache.id_bytes_ = trailer.id_bytes;
  return cache;
}

void IdCache::append(std::uint64_t begin, std::size_t count, std::int32_t vocabulary,
                     std::vector<std::int32_t>& ids) const {
  ensure(begin <= num_ids_ && count <= num_ids_ - begin, "a record points into the ids");
  const std::byte* at = ids_.bytes().data() + begin * id_bytes_;
  const std::size_t old_size = ids.size();
  if (id_bytes_ == 2) {
    const auto* narrow = reinterpret_cast<const std::uint16_t*>(at);
    ids.insert(ids.end(), narrow, narrow + count);
  } else {
    const auto* wide = reinterpret_cast<const std::int32_t*>(at);
    ids.insert(ids.end(), wide, wide + count);
  }
  for (std::size_t i = old_size; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocabulary) {
      throw UserError("the cache of encoded text is damaged (token id " + std::to_string(ids[i]) + " of " +
                          std::to_string(vocabulary) + ")",
                      "delete " + ids_path_.string());
    }
  }
}

}  // namespace attend
