// A parallel corpus as token ids, in a cache that is mapped into memory and kept from run to run (id_cache.hpp). The
// cache is named after the bytes of all files, the tokenizers and the options. Hashing reads every file at each start
// (about a second for 10 million pairs); encoding happens once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/corpus/id_cache.hpp"
#include "data/text/parallel.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

struct CorpusConfig {
  std::int64_t max_length = 256;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("max-length", self.max_length,
          {.help = "tokens of the longest sentence to learn from; pairs with a longer one are skipped and counted",
           .min = 1,
           .max = 65535});
  }
};

// Tokens of the two sides of a pair, without bos and eos.
struct PairLength {
  std::uint16_t src = 0;
  std::uint16_t tgt = 0;
};

// What a corpus is made of.
struct CorpusSource {
  std::vector<std::string> src_files;
  std::vector<std::string> tgt_files;  // file k is aligned with src_files[k]
  Tokenizer src_tokenizer;
  Tokenizer tgt_tokenizer;
};

// Examples are numbered from 0; skipped pairs have no number. Reading is safe from several threads.
class EncodedCorpus {
 public:
  // Takes the corpus out of the cache, or encodes it into the cache first. UserError as ParallelReader, and when no
  // pair is left.
  static EncodedCorpus open(const CorpusSource& source, const CorpusConfig& config,
                            const std::filesystem::path& cache = IdCache::default_directory());

  std::int64_t size() const;
  PairLength length(std::int64_t example) const;
  // Appends the ids, without bos and eos. UserError when the cache holds an id that the vocabulary has not.
  void append_src(std::int64_t example, std::vector<std::int32_t>& ids) const;
  void append_tgt(std::int64_t example, std::vector<std::int32_t>& ids) const;
  // The line it stands in, from 1, counted over all files of a side.
  std::uint64_t line(std::int64_t example) const;

  // What was skipped and cleaned when the text was encoded, and the tokens that are left, without bos and eos.
  const ParallelCounts& counts() const;
  std::uint64_t num_src_tokens() const;
  std::uint64_t num_tgt_tokens() const;

  // XXH3 of the text's bytes: tells whether a run goes on with the text it began with.
  const std::string& content_hash() const { return cache_.content_hash(); }
  // Whether open() found it in the cache.
  bool from_cache() const { return cache_.found(); }

 private:
  struct Record;
  struct Summary;

  EncodedCorpus(IdCache cache, const CorpusSource& source);
  const Record& record(std::int64_t example) const;
  const Summary& summary() const;

  IdCache cache_;
  std::int32_t src_vocabulary_;
  std::int32_t tgt_vocabulary_;
};

}  // namespace attend
