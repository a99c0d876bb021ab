// The stream of pretraining batches: a pure function of (seed, epoch, batch number).
//
// The instances of an epoch are shuffled, then cut into batches of at most `max_tokens` tokens; they are not grouped by
// length, since nothing is padded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "data/corpus/document_corpus.hpp"
#include "data/corpus/instances.hpp"
#include "data/corpus/masking.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

class PretrainingData {
 public:
  // `corpus` must outlive the object. Throws UserError as make_instances does, and if a sequence may exceed a batch.
  // `objective`: masked or permuted.
  PretrainingData(const DocumentCorpus& corpus, const Tokenizer& tokenizer, const InstanceConfig& instances,
                  const MaskingConfig& masking, std::int64_t max_tokens, std::uint64_t seed,
                  PretrainingKind objective = PretrainingKind::masked);

  // Makes the instances of an epoch, which batch() uses, and returns the number of its batches.
  std::int64_t begin_epoch(std::int64_t epoch);
  std::int64_t num_batches() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
  PretrainingBatch batch(std::int64_t number) const;

 private:
  std::int64_t tokens_of(const Instance& instance) const;
  // The tokens of a sequence to predict: masks them in `ids`, or appends the ranks of all tokens.
  std::vector<MaskedToken> predicted(std::span<std::int32_t> ids, RandomStream random,
                                     std::vector<std::int64_t>& ranks) const;

  const DocumentCorpus& corpus_;
  MaskVocabulary vocabulary_;
  InstanceConfig instance_config_;
  MaskingConfig masking_;
  std::int64_t max_tokens_;
  std::uint64_t seed_;
  PretrainingKind objective_;
  std::int64_t epoch_ = -1;
  std::vector<Instance> instances_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> begins_;  // batch b is order_[begins_[b]] … order_[begins_[b + 1] - 1]
};

}  // namespace attend
