#include "data/batch/parallel_batches.hpp"

namespace attend {

Batch make_batch(const EncodedCorpus& corpus, std::span<const std::uint32_t> examples, const BatchIds& ids) {
  // Ids are collected in two vectors; the sentences are spans of these.
  std::vector<std::int32_t> src;
  std::vector<std::int32_t> tgt;
  for (const auto example : examples) {
    corpus.append_src(example, src);
    corpus.append_tgt(example, tgt);
  }
  std::vector<std::span<const std::int32_t>> src_sentences;
  std::vector<std::span<const std::int32_t>> tgt_sentences;
  std::span<const std::int32_t> src_rest = src;
  std::span<const std::int32_t> tgt_rest = tgt;
  for (const auto example : examples) {
    const PairLength length = corpus.length(example);
    src_sentences.push_back(src_rest.first(length.src));
    tgt_sentences.push_back(tgt_rest.first(length.tgt));
    src_rest = src_rest.subspan(length.src);
    tgt_rest = tgt_rest.subspan(length.tgt);
  }
  return {.src = concatenate(src_sentences, -1, ids.src_eos),
          .tgt = concatenate(tgt_sentences, ids.tgt_bos, -1),
          .labels_M = concatenate(tgt_sentences, -1, ids.tgt_eos).ids_M,
          .examples = {examples.begin(), examples.end()}};
}

}  // namespace attend
