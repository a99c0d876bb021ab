#include "data/corpus/id_cache.hpp"

#include <stdlib.h>
#include <unicode/uversion.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

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
  std::uint64_t ids_checksum;  // XXH3 of KEY.ids
  std::uint64_t checksum;      // XXH3 of all of KEY.index before it
  std::array<char, 8> magic;
};

constexpr std::uint32_t kVersion = 4;
constexpr std::array<char, 8> kMagic = {'a', 't', 't', 'c', 'o', 'r', 'p', '4'};
constexpr std::size_t kWriteBytes = std::size_t{1} << 20;

using Bytes = std::span<const std::byte>;

// A failure of the cache rather than of the text: temporary files replace the cache.
class Unwritable : public UserError {
 public:
  explicit Unwritable(const UserError& error) : UserError(error.what(), error.remedy()) {}
};

void writing(const std::function<void()>& work) {
  try {
    work();
  } catch (const UserError& error) {
    throw Unwritable(error);
  }
}

class Checksum {
 public:
  Checksum() : state_(XXH3_createState(), &XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
  void update(Bytes bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

// Buffers small writes and computes the checksum of what is written.
class BufferedFile {
 public:
  explicit BufferedFile(const fs::path& path) {
    writing([&] { file_.emplace(path); });
  }

  template <class T>
  void write(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const Bytes bytes = std::as_bytes(values);
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= kWriteBytes) flush();
  }
  void flush() {
    writing([&] { file_->write(Bytes(buffer_)); });
    checksum_.update(buffer_);
    buffer_.clear();
  }
  std::uint64_t checksum() {
    flush();
    return checksum_.value();
  }
  void commit() {
    flush();
    writing([&] { file_->commit(); });
  }

 private:
  std::optional<AtomicFile> file_;
  std::vector<std::byte> buffer_;
  Checksum checksum_;
};

// A private temporary directory, deleted by the destructor; files that are still mapped stay readable.
class TemporaryPlace {
 public:
  TemporaryPlace() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    std::string path = (parent / "attend-XXXXXX").string();
    if (error || mkdtemp(path.data()) == nullptr) {
      throw UserError("no directory for temporary files (" + path + ")", "set TMPDIR to one that exists");
    }
    path_ = path;
  }
  TemporaryPlace(const TemporaryPlace&) = delete;
  TemporaryPlace& operator=(const TemporaryPlace&) = delete;
  ~TemporaryPlace() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The versions of the libraries that produce ids and sentences from text.
std::string library_versions() {
  UVersionInfo icu;
  u_getVersion(icu);
  std::array<char, U_MAX_VERSION_STRING_LENGTH> text;
  u_versionToString(icu, text.data());
  return std::string("SentencePiece " ATTEND_SENTENCEPIECE_VERSION ", ICU ") + text.data();
}

std::size_t id_bytes_of(const IdCache::Shape& shape) { return shape.vocabulary <= 65536 ? 2 : 4; }

// Writes KEY.ids and KEY.index.
class FileWriter : public IdCache::Writer {
 public:
  FileWriter(const fs::path& stem, const IdCache::Shape& shape)
      : shape_(shape), ids_path_(fs::path(stem) += ".ids"), ids_(ids_path_), index_(fs::path(stem) += ".index") {}

  void add_ids(std::span<const std::int32_t> ids) override {
    num_ids_ += ids.size();
    if (id_bytes_of(shape_) == 4) return ids_.write(ids);
    narrow_.assign(ids.begin(), ids.end());
    ids_.write(std::span<const std::uint16_t>(narrow_));
  }

  void commit(const std::string& key) {
    ensure(summary_.size() == shape_.summary_bytes, "the summary is set");
    index_.write(Bytes(summary_));
    Trailer trailer{.num_records = num_records_,
                    .num_ids = num_ids_,
                    .key = {},
                    .record_bytes = static_cast<std::uint32_t>(shape_.record_bytes),
                    .summary_bytes = static_cast<std::uint32_t>(shape_.summary_bytes),
                    .id_bytes = static_cast<std::uint32_t>(id_bytes_of(shape_)),
                    .version = kVersion,
                    .ids_checksum = ids_.checksum(),
                    .checksum = 0,
                    .magic = kMagic};
    std::copy(key.begin(), key.end(), trailer.key.begin());
    const Bytes bytes = std::as_bytes(std::span(&trailer, 1));
    index_.write(bytes.first(offsetof(Trailer, checksum)));
    trailer.checksum = index_.checksum();
    index_.write(bytes.subspan(offsetof(Trailer, checksum)));
    ids_.commit();
    try {
      index_.commit();
    } catch (...) {
      std::error_code ignored;
      fs::remove(ids_path_, ignored);  // frees the space of ids without an index
      throw;
    }
  }

 protected:
  void write_record(Bytes record) override {
    ensure(record.size() == shape_.record_bytes, "records are of one size");
    ++num_records_;
    index_.write(record);
  }
  void write_summary(Bytes summary) override { summary_.assign(summary.begin(), summary.end()); }

 private:
  IdCache::Shape shape_;
  fs::path ids_path_;
  BufferedFile ids_;
  BufferedFile index_;
  std::vector<std::uint16_t> narrow_;
  std::vector<std::byte> summary_;
  std::uint64_t num_records_ = 0;
  std::uint64_t num_ids_ = 0;
};

}  // namespace

fs::path CacheConfig::resolved() const {
  if (!directory.empty()) return directory;
  if (const char* xdg = getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/') return fs::path(xdg) / "attend";
  if (const char* home = getenv("HOME"); home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "attend";
  return {};
}

IdCache IdCache::open(const std::vector<std::string>& files, const std::string& ingredients, const Shape& shape,
                      const fs::path& directory, const std::function<void(Writer&)>& encode) {
  const std::string content = hash_hex_of_files(files);
  const std::string everything =
      content + " " + ingredients + " " + library_versions() + " " + std::to_string(kVersion);
  const std::string key = hash_hex(std::as_bytes(std::span(everything)));
  if (auto cache = directory.empty() ? std::nullopt : read(directory / key, key, shape)) {
    cache->content_hash_ = content;
    return std::move(*cache);
  }
  const auto make = [&](const fs::path& place) {
    const fs::path stem = place / key;
    FileWriter writer(stem, shape);
    encode(writer);
    if (hash_hex_of_files(files) != content) {
      throw UserError(files.front() + " or a file read with it changed during reading",
                      "start again when no program writes to it");
    }
    writer.commit(key);
    auto cache = read(stem, key, shape);
    ensure(cache.has_value(), "a cache that was just written is valid");
    cache->content_hash_ = content;
    cache->found_ = false;
    return std::move(*cache);
  };
  try {
    if (directory.empty()) throw Unwritable(UserError("no home directory for a cache"));
    writing([&] { make_directories(directory); });
    AtomicFile::remove_leftovers(directory);
    return make(directory);
  } catch (const Unwritable& error) {
    log::warn("{}; the encoded text is not kept for the next run (choose another directory with --cache-dir)",
              error.what());
  }
  const TemporaryPlace place;
  try {
    return make(place.path());
  } catch (const Unwritable& error) {
    throw UserError(error.what(), "free some space in the cache (" + directory.string() +
                                      "), or choose directories with free space (--cache-dir DIR, TMPDIR)");
  }
}

std::optional<IdCache> IdCache::read(const fs::path& stem, const std::string& key, const Shape& shape) {
  const fs::path ids_path = fs::path(stem) += ".ids";
  const fs::path index_path = fs::path(stem) += ".index";
  std::error_code error;
  if (!fs::exists(ids_path, error) || !fs::exists(index_path, error)) return std::nullopt;
  const auto damaged = [&] {
    log::warn("{}: damaged; the text is encoded again", stem.string());
    return std::nullopt;
  };
  IdCache cache{MappedFile(ids_path), MappedFile(index_path)};
  const Bytes index = cache.index_.bytes();
  if (index.size() < sizeof(Trailer) + shape.summary_bytes) return damaged();
  const std::size_t records = index.size() - sizeof(Trailer) - shape.summary_bytes;
  if (records == 0 || records % shape.record_bytes != 0) return damaged();
  const auto& trailer = *reinterpret_cast<const Trailer*>(index.last(sizeof(Trailer)).data());
  if (trailer.magic != kMagic || trailer.version != kVersion || trailer.record_bytes != shape.record_bytes ||
      trailer.summary_bytes != shape.summary_bytes || trailer.id_bytes != id_bytes_of(shape) ||
      !std::equal(key.begin(), key.end(), trailer.key.begin(), trailer.key.end()) ||
      trailer.num_records != records / shape.record_bytes) {
    return damaged();
  }
  Checksum checksum;
  checksum.update(index.first(index.size() - sizeof(Trailer) + offsetof(Trailer, checksum)));
  if (checksum.value() != trailer.checksum) return damaged();
  const std::size_t ids_bytes = cache.ids_.bytes().size();
  if (ids_bytes % trailer.id_bytes != 0 || ids_bytes / trailer.id_bytes != trailer.num_ids) return damaged();
  if (XXH3_64bits(cache.ids_.bytes().data(), ids_bytes) != trailer.ids_checksum) return damaged();
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
