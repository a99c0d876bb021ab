// A parallel corpus as token ids, in a memory-mapped cache that is kept between runs (id_cache.hpp). The cache key is a
// hash of all files, the tokenizers and the options. Every start reads all files to hash them; they are encoded
// once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/corpus/id_cache.hpp"
#include "data/text/parallel.hpp"
#include "data/tokenizer/source_factors.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

struct CorpusConfig {
  std::int64_t max_length = 256;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit(
        "max-length", self.max_length,
        {.help = "maximum tokens per training sentence; longer pairs are skipped and counted", .min = 1, .max = 65535});
  }
};

// Tokens on each side of a pair, without bos and eos.
struct PairLength {
  std::uint16_t src = 0;
  std::uint16_t tgt = 0;
};

// The ids of a pair, without bos and eos.
struct PairIds {
  std::vector<std::int32_t> src = {};
  std::vector<std::int32_t> labels = {};  // of the source ids: for each id, one per factor
  std::vector<std::int32_t> tgt = {};

  PairLength length() const {
    return {.src = static_cast<std::uint16_t>(src.size()), .tgt = static_cast<std::uint16_t>(tgt.size())};
  }
};

// The files and tokenizers of a corpus.
struct CorpusSource {
  std::string src_file;
  std::string tgt_file;
  Tokenizer src_tokenizer;
  Tokenizer tgt_tokenizer;
  SourceFactors factors = {};
  std::vector<std::string> factor_files = {};  // one for each factor
};

// Examples are numbered from 0, not counting skipped pairs. Reading is thread-safe.
class EncodedCorpus {
 public:
  // Opens the corpus in the cache, encoding it first if necessary. Throws UserError as ParallelReader does, and if
  // no pair is left.
  static EncodedCorpus open(const CorpusSource& source, const CorpusConfig& config,
                            const std::filesystem::path& cache = CacheConfig().resolved());

  std::int64_t size() const;
  PairLength length(std::int64_t example) const;
  // Throws UserError if an id in the cache is not in the vocabulary.
  PairIds pair(std::int64_t example) const;
  std::size_t num_factors() const { return num_factors_; }
  // The line of an example, from 1.
  std::uint64_t line(std::int64_t example) const;

  // Counts of skipped pairs and cleaned lines, and the remaining target tokens, without bos and eos.
  const ParallelCounts& counts() const;
  std::uint64_t num_tgt_tokens() const;

  // XXH3 of the text's bytes: a run must resume with the same text.
  const std::string& content_hash() const { return cache_.content_hash(); }
  // True if open() found the corpus in the cache.
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
  std::size_t num_factors_;
  std::int32_t num_labels_;  // of the factor with the most
};

}  // namespace attend
