#include "data/batch/parallel_batches.hpp"

namespace attend {

Batch make_batch(const EncodedCorpus& corpus, std::span<const std::uint32_t> examples, const BatchIds& ids,
                 const SampledPairs* sampled, std::int64_t epoch) {
  // Ids are collected in vectors; the sentences are spans of these.
  std::vector<std::int32_t> src, tgt, labels;
  std::vector<PairLength> lengths;
  for (const auto example : examples) {
    if (sampled != nullptr) {
      lengths.push_back(sampled->append(example, epoch, src, tgt, labels));
      continue;
    }
    corpus.append_src(example, src);
    corpus.append_tgt(example, tgt);
    corpus.append_factors(example, labels);
    lengths.push_back(corpus.length(example));
  }
  IdSpans src_sentences, tgt_sentences, src_labels;
  const std::int32_t *src_at = src.data(), *tgt_at = tgt.data(), *labels_at = labels.data();
  for (const PairLength length : lengths) {
    src_at += src_sentences.emplace_back(src_at, length.src).size();
    tgt_at += tgt_sentences.emplace_back(tgt_at, length.tgt).size();
    labels_at += src_labels.emplace_back(labels_at, length.src * corpus.num_factors()).size();
  }
  Batch batch = batch_of_pairs(src_sentences, tgt_sentences, ids, src_labels, corpus.num_factors());
  batch.examples.assign(examples.begin(), examples.end());
  return batch;
}

}  // namespace attend
