// Batches of a parallel corpus.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "data/batch/batch.hpp"
#include "data/corpus/batch_order.hpp"
#include "data/corpus/parallel_corpus.hpp"

namespace attend {

// The special ids in a batch: eos of the source, bos and eos of the target.
struct BatchIds {
  std::int32_t src_eos = 0;
  std::int32_t tgt_bos = 0;
  std::int32_t tgt_eos = 0;
};

// Makes a batch of these examples, on the CPU.
Batch make_batch(const EncodedCorpus& corpus, std::span<const std::uint32_t> examples, const BatchIds& ids);

// The batches of a parallel corpus in order, for a BatchStream; both arguments must outlive it.
class ParallelBatches {
 public:
  ParallelBatches(const EncodedCorpus& corpus, const BatchOrder& order, const BatchIds& ids)
      : corpus_(&corpus), order_(&order), ids_(ids) {}

  std::int64_t begin_epoch(std::int64_t epoch) {
    epoch_.emplace(order_->epoch(epoch));
    return epoch_->size();
  }
  Batch batch(std::int64_t number) const { return make_batch(*corpus_, epoch_->batch(number), ids_); }

 private:
  const EncodedCorpus* corpus_;
  const BatchOrder* order_;
  BatchIds ids_;
  std::optional<BatchOrder::Epoch> epoch_;
};

}  // namespace attend
