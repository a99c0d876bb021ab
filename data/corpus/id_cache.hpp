// Encoded text in files that are mapped into memory and kept from run to run: a stream of token ids, and records of
// fixed size that say what lies where in it.
//
// The name of a cache is a hash of everything that it was made of, so one made of other things is never taken for it.
// Two files: KEY.ids (16 bits an id where the vocabulary has room), and KEY.index, the records, a summary and a trailer
// with counts and a checksum of each file. KEY.index is put in place last, and neither exists half: a cache that was
// cut short, belongs to something else or has a flipped bit is noticed when it is opened, and made again. Ids are
// checked against the vocabulary as they are read. Plain numbers, as this machine has them: the cache never leaves it.
// Nothing is ever deleted: the whole directory may be deleted whenever no run is reading.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/files.hpp"
#include "core/options.hpp"

namespace attend {

struct CacheConfig {
  std::string directory = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("cache-dir", self.directory,
          {.help = "where encoded text is kept for the next run; none: $XDG_CACHE_HOME/attend or ~/.cache/attend",
           .placeholder = "DIR",
           .may_change = true});
  }

  // The directory given, or the usual one; empty where there is no home.
  std::filesystem::path resolved() const;
};

class IdCache {
 public:
  // What is written into a cache that is made, in order.
  class Writer {
   public:
    virtual ~Writer() = default;
    void add_ids(std::span<const std::int32_t> ids) { write_ids(ids); }
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
    virtual void write_ids(std::span<const std::int32_t> ids) = 0;
    virtual void write_record(std::span<const std::byte> record) = 0;
    virtual void write_summary(std::span<const std::byte> summary) = 0;
  };

  struct Shape {
    std::int32_t vocabulary = 0;  // all ids are below
    std::size_t record_bytes = 0;
    std::size_t summary_bytes = 0;
  };

  // Opens the cache of the text of these files, one or more, and of all other `ingredients` in the directory, or makes
  // it there with `encode`, which adds one record or more and sets the summary; an exception of it leaves nothing
  // behind. Where the directory cannot be written to, or is full, temporary files take its place and `encode` is called
  // again. UserError when a file changes meanwhile, and when there is no place for temporary files either.
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

  // Appends ids begin … begin + count. UserError when one of them is not below `vocabulary`.
  void append(std::uint64_t begin, std::size_t count, std::int32_t vocabulary, std::vector<std::int32_t>& ids) const;

  // XXH3 of the bytes of all files: tells whether a run resumes with the text that it started with.
  const std::string& content_hash() const { return content_hash_; }
  // Whether open() found it.
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
