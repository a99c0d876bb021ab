#include "data/batch/parallel_batches.hpp"

namespace attend {

Batch make_batch(const EncodedCorpus& corpus, std::span<const std::uint32_t> examples, const BatchIds& ids,
                 const SampledPairs* sampled, std::int64_t epoch) {
  std::vector<PairIds> pairs;
  for (const auto example : examples) {
    pairs.push_back(sampled != nullptr ? sampled->pair(example, epoch) : corpus.pair(example));
  }
  IdSpans src, tgt, labels;
  for (const PairIds& pair : pairs) {
    src.emplace_back(pair.src);
    tgt.emplace_back(pair.tgt);
    labels.emplace_back(pair.labels);
  }
  Batch batch = batch_of_pairs(src, tgt, ids, labels, corpus.num_factors());
  batch.examples.assign(examples.begin(), examples.end());
  return batch;
}

}  // namespace attend
