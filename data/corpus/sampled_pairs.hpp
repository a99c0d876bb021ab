// The pairs of a corpus in pieces that are sampled for each epoch (tokenizer/piece_sampler.hpp): a pure function of
// (seed, epoch, line, side), so that a resumed run and all processes of a run read the same.
//
// Samples are drawn twice: for the lengths of a whole epoch, from which its batches are made, and for each batch. So
// batches keep to --max-tokens, and only the lengths are stored.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/corpus/parallel_corpus.hpp"
#include "data/tokenizer/piece_sampler.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"

namespace attend {

class SampledPairs {
 public:
  // `config` must sample and pass check_sampling(). A side whose sample has more than `longest` tokens keeps
  // the pieces of the corpus. `corpus` must outlive this. Throws UserError if a source with factors has pieces that
  // span words: their samples have no labels of their own.
  SampledPairs(const EncodedCorpus& corpus, const TokenizerPair& tokenizers, const SamplingConfig& config,
               std::uint64_t seed, std::int64_t longest);

  // A piece has the labels of the piece of the corpus in which it begins. Thread-safe.
  PairIds pair(std::int64_t example, std::int64_t epoch) const;
  // The lengths of all examples in an epoch. Throws Interrupted when a signal requests a stop, or after stop().
  std::vector<PairLength> lengths(std::int64_t epoch) const { return lengths(epoch, corpus_->size()); }
  void stop() { stopping_ = true; }

  // The ratio of sampled to usual lengths of the longer sides of pairs, estimated from at most 10,000.
  double growth() const;

 private:
  std::vector<PairLength> lengths(std::int64_t epoch, std::int64_t count) const;  // of the first examples

  const EncodedCorpus* corpus_;
  Tokenizer src_tokenizer_;
  std::unique_ptr<const PieceSampler> src_, tgt_;
  std::uint64_t seed_;
  std::size_t longest_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace attend
