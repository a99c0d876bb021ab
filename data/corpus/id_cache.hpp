// Encoded text: in files that are kept between runs, and made by all processors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/options.hpp"
#include "core/process.hpp"

namespace attend {

// Encodes every line of `reader` with all processors and passes it to take(line, encoded), in order. Each thread calls
// make_encoder() for each chunk of lines. Throws Interrupted when a signal requests a stop, and UserError naming `file`
// if a line number exceeds the 32 bits of the cache.
template <class Line, class Reader, class MakeEncoder, class Take>
void encode_in_order(Reader& reader, const std::string& file, MakeEncoder make_encoder, Take take) {
  constexpr std::size_t kChunkLines = 8192;
  std::vector<Line> lines(kChunkLines);
  std::vector<decltype(make_encoder()(std::declval<const Line&>()))> encoded(kChunkLines);
  for (bool more = true; more;) {
    signals::throw_if_stopped("stopped while encoding the text");
    std::size_t count = 0;
    while (count < lines.size() && (more = reader.next(lines[count]))) ++count;
    in_parallel(count, [&](std::size_t begin, std::size_t end) {
      auto encode = make_encoder();
      for (std::size_t k = begin; k < end; ++k) encoded[k] = encode(std::as_const(lines[k]));
    });
    for (std::size_t k = 0; k < count; ++k) {
      if (lines[k].line > std::numeric_limits<std::uint32_t>::max()) {
        throw UserError(file + ": more than 4294967295 lines", "split the corpus");
      }
      take(std::as_const(lines[k]), std::as_const(encoded[k]));
    }
  }
}

// Encoded text in memory-mapped files that are kept between runs: a stream of token ids, and fixed-size records that
// point into it.
//
// The name of a cache is a hash of all its ingredients, so that a cache of other text or settings is never used. It
// has two files: KEY.ids (16 bits per id if the vocabulary is small enough) and KEY.index, with the records, a summary,
// and a trailer with counts and a checksum of each file. KEY.index is written last, and each file appears complete or
// not at all: a truncated, foreign or corrupted cache is detected when it is opened, and made again. Ids are checked
// against the vocabulary as they are read. Numbers are in native byte order, since the cache never leaves the machine.
// No cache is ever deleted; the directory may be deleted whenever no run is reading it.

struct CacheConfig {
  std::string directory = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("cache-dir", self.directory,
          {.help = "directory of the cache of encoded text; empty: $XDG_CACHE_HOME/attend or ~/.cache/attend",
           .placeholder = "DIR",
           .may_change = true,
           .identifies = false});
  }

  // The given directory, or the default; empty if there is no home directory.
  std::filesystem::path resolved() const;
};

class IdCache {
 public:
  // Writes the content of a new cache, in order.
  class Writer {
   public:
    virtual ~Writer() = default;
    virtual void add_ids(std::span<const std::int32_t> ids) = 0;
    template <class Record>
    void add_record(const Record& record) {
      static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) % 8 == 0);
      write_record(std::as_bytes(std::span(&record, 1)));
    }
    template <class Summary>
    void set_summary(const Summary& summary) {
      static_assert(std::is_trivially_copyable_v<Summary> && sizeof(Summary) % 8 == 0);
      write_summary(std::as_bytes(std::span(&summary, 1)));
    }

   protected:
    virtual void write_record(std::span<const std::byte> record) = 0;
    virtual void write_summary(std::span<const std::byte> summary) = 0;
  };

  struct Shape {
    std::int32_t vocabulary = 0;  // ids are below this
    std::size_t record_bytes = 0;
    std::size_t summary_bytes = 0;  // 0: there is no summary
  };

  // Opens the cache of the text of `files` (at least one) and all other `ingredients` in `directory`, or makes it there
  // with `encode`, which adds at least one record and sets the summary, if any; if it throws, no file is left. If the
  // directory is full or not writable, temporary files are used instead and `encode` is called again. Throws UserError
  // if a file changes meanwhile, or if temporary files cannot be written either.
  static IdCache open(const std::vector<std::string>& files, const std::string& ingredients, const Shape& shape,
                      const std::filesystem::path& directory, const std::function<void(Writer&)>& encode);

  template <class Record>
  std::span<const Record> records() const {
    return {reinterpret_cast<const Record*>(index_.bytes().data()), num_records_};
  }
  template <class Summary>
  const Summary& summary() const {
    return *reinterpret_cast<const Summary*>(index_.bytes().data() + num_records_ * shape_.record_bytes);
  }
  std::uint64_t num_ids() const { return num_ids_; }

  // Appends ids begin … begin + count - 1. Throws UserError if one of them is not below `vocabulary`.
  void append(std::uint64_t begin, std::size_t count, std::int32_t vocabulary, std::vector<std::int32_t>& ids) const;

  // XXH3 of the bytes of all files: a run must resume with the same text.
  const std::string& content_hash() const { return content_hash_; }
  // True if open() found the cache, false if it made it.
  bool found() const { return found_; }

 private:
  IdCache(MappedFile ids, MappedFile index) : ids_(std::move(ids)), index_(std::move(index)) {}
  static std::optional<IdCache> read(const std::filesystem::path& stem, const std::string& key, const Shape& shape);

  MappedFile ids_;
  MappedFile index_;
  std::filesystem::path ids_path_;
  Shape shape_;
  std::size_t num_records_ = 0;
  std::uint64_t num_ids_ = 0;
  std::size_t id_bytes_ = 4;
  std::string content_hash_;
  bool found_ = true;
};

}  // namespace attend
