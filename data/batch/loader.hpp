// The endless stream of training batches, prepared in advance on a background thread.
#pragma once

#include <span>

#include "data/batch/batch.hpp"
#include "data/batch/prefetcher.hpp"
#include "data/corpus/batch_order.hpp"
#include "data/corpus/data_position.hpp"
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

struct LoadedBatch {
  Batch batch;
  DataPosition position;
  DataPosition after;  // of the next batch: saved in a checkpoint once this one is consumed
};

class Loader {
 public:
  // Starts at `start`; corpus and order must outlive the loader. A position past the end of its epoch means the first
  // batch of the next.
  Loader(const EncodedCorpus& corpus, const BatchOrder& order, const BatchIds& ids, DataPosition start = {});

  // Waits for the next batch. Rethrows exceptions of the background thread.
  LoadedBatch next() { return batches_.next(); }

 private:
  Prefetcher<LoadedBatch> batches_;
};

}  // namespace attend
