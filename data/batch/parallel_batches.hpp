// Batches of a parallel corpus.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "data/corpus/batch_order.hpp"
#include "data/corpus/parallel_corpus.hpp"
#include "data/corpus/sampled_pairs.hpp"

namespace attend {

// Makes a batch of these examples on the CPU, with the pieces of the corpus or those that `sampled` draws in `epoch`.
Batch make_batch(const EncodedCorpus& corpus, std::span<const std::uint32_t> examples, const BatchIds& ids,
                 const SampledPairs* sampled = nullptr, std::int64_t epoch = 0);

// The batches of a parallel corpus in order, for a BatchStream; its arguments must outlive it.
class ParallelBatches {
 public:
  // `sampled` may be null: the pieces of the corpus.
  ParallelBatches(const EncodedCorpus& corpus, const BatchOrder& order, const BatchIds& ids,
                  const SampledPairs* sampled = nullptr)
      : corpus_(&corpus), order_(&order), ids_(ids), sampled_(sampled) {}

  std::int64_t begin_epoch(std::int64_t epoch) {
    number_ = epoch;
    epoch_.emplace(order_->epoch(epoch, sampled_ != nullptr ? sampled_->lengths(epoch) : std::vector<PairLength>()));
    return epoch_->size();
  }
  Batch batch(std::int64_t number) const {
    return make_batch(*corpus_, epoch_->batch(number), ids_, sampled_, number_);
  }
  // The batch of the epoch with the most padded tokens.
  Batch largest() const { return batch(order_->largest(*epoch_)); }

 private:
  const EncodedCorpus* corpus_;
  const BatchOrder* order_;
  BatchIds ids_;
  const SampledPairs* sampled_;
  std::int64_t number_ = 0;
  std::optional<BatchOrder::Epoch> epoch_;
};

}  // namespace attend
