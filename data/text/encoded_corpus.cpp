#include "data/text/encoded_corpus.hpp"

#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <limits>
#include <memory>
#include <thread>
#include <type_traits>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"

namespace attend {
namespace fs = std::filesystem;

// One pair: where its ids begin, src before tgt, counted in ids.
struct EncodedCorpus::Record {
  std::uint64_t begin;
  std::uint32_t line;
  PairLength length;
};

// The last bytes of KEY.index. Plain numbers: the cache never leaves the machine that made it.
struct EncodedCorpus::Trailer {
  std::uint64_t num_pairs;
  std::uint64_t num_src_tokens;
  std::uint64_t num_tgt_tokens;
  ParallelCounts counts;
  std::array<char, 32> key;
  std::uint32_t id_bytes;  // 2 or 4
  std::uint32_t version;
  std::uint64_t checksum;  // XXH3 of all of KEY.index before it
  std::array<char, 8> magic;
};

namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::array<char, 8> kMagic = {'a', 't', 't', 'c', 'o', 'r', 'p', '1'};
constexpr std::size_t kChunkPairs = 8192;
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

std::string hash_text(const std::string& text) { return hash_hex(std::as_bytes(std::span(text))); }

std::string hash_of_files(const CorpusSource& source) {
  std::string hashes;
  for (const auto& file : source.src_files) hashes += "src " + hash_hex_of_file(file) + "\n";
  for (const auto& file : source.tgt_files) hashes += "tgt " + hash_hex_of_file(file) + "\n";
  return hash_text(hashes);
}

struct EncodedPair {
  std::vector<std::int32_t> src;
  std::vector<std::int32_t> tgt;
};

// Encodes the chunk with all processors; pair k of the result is pair k of the chunk.
std::vector<EncodedPair> encode_chunk(const CorpusSource& source, std::span<const TextPair> chunk) {
  std::vector<EncodedPair> encoded(chunk.size());
  const std::size_t workers = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 16);
  std::vector<std::future<void>> done;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    done.push_back(std::async(std::launch::async, [&, worker] {
      for (std::size_t k = worker; k < chunk.size(); k += workers) {
        encoded[k] = {source.src_tokenizer.encode(chunk[k].src), source.tgt_tokenizer.encode(chunk[k].tgt)};
      }
    }));
  }
  for (auto& result : done) result.get();
  return encoded;
}

}  // namespace

fs::path EncodedCorpus::default_cache() {
  if (const char* xdg = getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/') return fs::path(xdg) / "attend";
  if (const char* home = getenv("HOME"); home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "attend";
  return fs::temp_directory_path() / "attend";
}

namespace {

// Writes KEY.ids and KEY.index.
template <class Id, class Record, class Trailer>
void encode_to(const fs::path& stem, const CorpusSource& source, const CorpusConfig& config, const std::string& key) {
  ParallelReader reader(source.src_files, source.tgt_files);
  BufferedFile ids(fs::path(stem) += ".ids");
  BufferedFile index(fs::path(stem) += ".index");
  Checksum checksum;
  Trailer trailer{};
  std::uint64_t too_long = 0;
  std::uint64_t empty = 0;
  std::uint64_t at = 0;
  std::vector<TextPair> chunk(kChunkPairs);
  std::vector<Id> row;
  const auto max_length = static_cast<std::size_t>(config.max_length);
  for (bool more = true; more;) {
    std::size_t count = 0;
    if (signals::stop_requested()) throw Interrupted("stopped while the text was encoded");
    while (count < chunk.size() && (more = reader.next(chunk[count]))) ++count;
    const auto encoded = encode_chunk(source, std::span(chunk).first(count));
    for (std::size_t k = 0; k < count; ++k) {
      const auto& [src, tgt] = encoded[k];
      if (src.empty() || tgt.empty()) {
        ++empty;
        continue;
      }
      if (std::max(src.size(), tgt.size()) > max_length) {
        ++too_long;
        continue;
      }
      if (chunk[k].line > std::numeric_limits<std::uint32_t>::max()) {
        throw UserError(source.src_files.front() + ": more than 4294967295 lines", "split the corpus");
      }
      const Record record{.begin = at,
                          .line = static_cast<std::uint32_t>(chunk[k].line),
                          .length = {static_cast<std::uint16_t>(src.size()), static_cast<std::uint16_t>(tgt.size())}};
      row.assign(src.begin(), src.end());
      row.insert(row.end(), tgt.begin(), tgt.end());
      ids.write(std::span<const Id>(row));
      index.write(std::span(&record, 1));
      checksum.update(std::as_bytes(std::span(&record, 1)));
      at += row.size();
      ++trailer.num_pairs;
      trailer.num_src_tokens += src.size();
      trailer.num_tgt_tokens += tgt.size();
    }
  }
  trailer.counts = reader.counts();
  trailer.counts.empty += empty;
  trailer.counts.too_long += too_long;
  if (trailer.num_pairs == 0) {
    throw UserError(source.src_files.front() + ": no pair left to learn from (" + trailer.counts.report() + ")",
                    "check the text and --max-length");
  }
  std::copy(key.begin(), key.end(), trailer.key.begin());
  trailer.id_bytes = sizeof(Id);
  trailer.version = kVersion;
  checksum.update(std::as_bytes(std::span(&trailer, 1)).first(offsetof(Trailer, checksum)));
  trailer.checksum = checksum.value();
  trailer.magic = kMagic;
  index.write(std::span<const Trailer>(&trailer, 1));
  ids.commit();
  index.commit();
}

}  // namespace

EncodedCorpus EncodedCorpus::open(const CorpusSource& source, const CorpusConfig& config, const fs::path& cache) {
  ParallelReader(source.src_files, source.tgt_files);  // refuses files that cannot be read before any are hashed
  const std::string content = hash_of_files(source);
  const std::string key = hash_text(content + source.src_tokenizer.hash() + source.tgt_tokenizer.hash() +
                                    std::to_string(config.max_length) + " " + std::to_string(kVersion));
  const auto finish = [&](EncodedCorpus corpus, bool from_cache) {
    corpus.content_hash_ = content;
    corpus.from_cache_ = from_cache;
    return corpus;
  };
  if (auto corpus = read(cache / key, source, key)) return finish(std::move(*corpus), true);

  const bool narrow = std::max(source.src_tokenizer.size(), source.tgt_tokenizer.size()) <= 65536;
  const auto encode = narrow ? encode_to<std::uint16_t, Record, Trailer> : encode_to<std::int32_t, Record, Trailer>;
  std::error_code error;
  fs::create_directories(cache, error);
  std::string temporary = (fs::temp_directory_path() / "attend-XXXXXX").string();
  const bool kept = !error && access(cache.c_str(), W_OK) == 0;
  if (!kept) {
    if (mkdtemp(temporary.data()) == nullptr) throw UserError(temporary + ": cannot be created");
    log::warn("{} cannot be written to: the encoded text is not kept for the next run", cache.string());
  }
  const fs::path stem = (kept ? cache : fs::path(temporary)) / key;
  const auto clean_up = [&] {
    if (!kept) fs::remove_all(temporary, error);  // what is mapped stays until it is let go
  };
  try {
    encode(stem, source, config, key);
    auto corpus = read(stem, source, key);
    clean_up();
    ensure(corpus.has_value(), "a cache that was just written is valid");
    return finish(std::move(*corpus), false);
  } catch (...) {
    clean_up();
    throw;
  }
}

std::optional<EncodedCorpus> EncodedCorpus::read(const fs::path& stem, const CorpusSource& source,
                                                 const std::string& key) {
  const fs::path ids_path = fs::path(stem) += ".ids";
  const fs::path index_path = fs::path(stem) += ".index";
  std::error_code error;
  if (!fs::exists(ids_path, error) || !fs::exists(index_path, error)) return std::nullopt;
  EncodedCorpus corpus{MappedFile(ids_path), MappedFile(index_path)};
  const std::size_t size = corpus.index_.bytes().size();
  if (size < sizeof(Trailer) || (size - sizeof(Trailer)) % sizeof(Record) != 0) return std::nullopt;
  const Trailer& trailer = corpus.trailer();
  if (trailer.magic != kMagic || trailer.version != kVersion || (trailer.id_bytes != 2 && trailer.id_bytes != 4) ||
      !std::equal(key.begin(), key.end(), trailer.key.begin(), trailer.key.end()) ||
      trailer.num_pairs != (size - sizeof(Trailer)) / sizeof(Record)) {
    return std::nullopt;
  }
  Checksum checksum;
  checksum.update(corpus.index_.bytes().first(size - sizeof(Trailer) + offsetof(Trailer, checksum)));
  if (checksum.value() != trailer.checksum) return std::nullopt;
  if (corpus.ids_.bytes().size() != (trailer.num_src_tokens + trailer.num_tgt_tokens) * trailer.id_bytes) {
    return std::nullopt;
  }
  corpus.src_vocabulary_ = source.src_tokenizer.size();
  corpus.tgt_vocabulary_ = source.tgt_tokenizer.size();
  corpus.ids_path_ = ids_path;
  return corpus;
}

EncodedCorpus::EncodedCorpus(MappedFile ids, MappedFile index) : ids_(std::move(ids)), index_(std::move(index)) {}

const EncodedCorpus::Record& EncodedCorpus::record(std::int64_t example) const {
  ensure(example >= 0 && example < size(), "an example of the corpus");
  return reinterpret_cast<const Record*>(index_.bytes().data())[example];
}

const EncodedCorpus::Trailer& EncodedCorpus::trailer() const {
  return *reinterpret_cast<const Trailer*>(index_.bytes().last(sizeof(Trailer)).data());
}

void EncodedCorpus::append(std::uint64_t begin, std::size_t count, std::int32_t limit,
                           std::vector<std::int32_t>& ids) const {
  const std::size_t width = trailer().id_bytes;
  ensure((begin + count) * width <= ids_.bytes().size(), "a record points into the ids");
  const std::byte* at = ids_.bytes().data() + begin * width;
  const std::size_t old_size = ids.size();
  if (width == 2) {
    const auto* narrow = reinterpret_cast<const std::uint16_t*>(at);
    ids.insert(ids.end(), narrow, narrow + count);
  } else {
    const auto* wide = reinterpret_cast<const std::int32_t*>(at);
    ids.insert(ids.end(), wide, wide + count);
  }
  for (std::size_t i = old_size; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= limit) {
      throw UserError("the cache of encoded text is damaged (token id " + std::to_string(ids[i]) + " of " +
                          std::to_string(limit) + ")",
                      "delete " + ids_path_.string());
    }
  }
}

std::int64_t EncodedCorpus::size() const { return static_cast<std::int64_t>(trailer().num_pairs); }
PairLength EncodedCorpus::length(std::int64_t example) const { return record(example).length; }
std::uint64_t EncodedCorpus::line(std::int64_t example) const { return record(example).line; }

void EncodedCorpus::append_src(std::int64_t example, std::vector<std::int32_t>& ids) const {
  const Record& pair = record(example);
  append(pair.begin, pair.length.src, src_vocabulary_, ids);
}

void EncodedCorpus::append_tgt(std::int64_t example, std::vector<std::int32_t>& ids) const {
  const Record& pair = record(example);
  append(pair.begin + pair.length.src, pair.length.tgt, tgt_vocabulary_, ids);
}

const ParallelCounts& EncodedCorpus::counts() const { return trailer().counts; }
std::uint64_t EncodedCorpus::num_src_tokens() const { return trailer().num_src_tokens; }
std::uint64_t EncodedCorpus::num_tgt_tokens() const { return trailer().num_tgt_tokens; }

}  // namespace attend
