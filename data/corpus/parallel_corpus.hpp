// A parallel corpus as token ids: encoded once, or in pieces that are sampled for each epoch.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/corpus/id_cache.hpp"
#include "data/text/parallel.hpp"
#include "data/tokenizer/piece_sampler.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// A parallel corpus as token ids, in a memory-mapped cache that is kept between runs (id_cache.hpp). The cache key is a
// hash of all files, the tokenizers and the options. Every start reads all files to hash them; they are encoded
// once.

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
};

// The pairs of a corpus in pieces that are sampled for each epoch (tokenizer/piece_sampler.hpp): a pure function of
// (seed, epoch, line, side), so that a resumed run and all processes of a run read the same.
//
// Samples are drawn twice: for the lengths of a whole epoch, from which its batches are made, and for each batch. So
// batches keep to --max-tokens, and only the lengths are stored.
class SampledPairs {
 public:
  // `config` must sample and pass check_sampling(). A side whose sample has more than `longest` tokens keeps
  // the pieces of the corpus. `corpus` must outlive this.
  SampledPairs(const EncodedCorpus& corpus, const TokenizerPair& tokenizers, const SamplingConfig& config,
               std::uint64_t seed, std::int64_t longest);

  // Thread-safe.
  PairIds pair(std::int64_t example, std::int64_t epoch) const;
  // The lengths of all examples in an epoch. Throws Interrupted when a signal requests a stop, or after stop().
  std::vector<PairLength> lengths(std::int64_t epoch) const { return lengths(epoch, corpus_->size()); }
  void stop() { stopping_ = true; }

  // The ratio of sampled to usual lengths of the longer sides of pairs, estimated from at most 10,000.
  double growth() const;

 private:
  std::vector<PairLength> lengths(std::int64_t epoch, std::int64_t count) const;  // of the first examples

  const EncodedCorpus* corpus_;
  std::unique_ptr<const PieceSampler> src_, tgt_;
  std::uint64_t seed_;
  std::size_t longest_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace attend
