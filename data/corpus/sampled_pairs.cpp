#include "data/corpus/sampled_pairs.hpp"

#include <span>

#include "core/parallel.hpp"
#include "core/random.hpp"

namespace attend {

SampledPairs::SampledPairs(const EncodedCorpus& corpus, const TokenizerPair& tokenizers, const SamplingConfig& config,
                           std::uint64_t seed, std::int64_t longest)
    : corpus_(&corpus),
      src_tokenizer_(tokenizers.src),
      src_(make_piece_sampler(config, tokenizers.src)),
      tgt_(make_piece_sampler(config, tokenizers.tgt)),
      seed_(seed),
      longest_(static_cast<std::size_t>(longest)) {}

PairLength SampledPairs::append(std::int64_t example, std::int64_t epoch, std::vector<std::int32_t>& src,
                                std::vector<std::int32_t>& tgt, std::vector<std::int32_t>& labels) const {
  const auto add = [&](const PieceSampler& sampler, int side, const std::vector<std::int32_t>& ids,
                       std::vector<std::int32_t>& to) {
    RandomStream random(combine_keys(seed_, epoch, corpus_->line(example), side));
    const std::vector<std::int32_t> sampled = sampler.sample(ids, random);
    const std::vector<std::int32_t>& kept = sampled.size() <= longest_ ? sampled : ids;
    to.insert(to.end(), kept.begin(), kept.end());
    return static_cast<std::uint16_t>(kept.size());
  };
  std::vector<std::int32_t> src_ids, tgt_ids;
  corpus_->append_src(example, src_ids);
  corpus_->append_tgt(example, tgt_ids);
  const std::uint16_t num_src = add(*src_, 0, src_ids, src);
  if (const auto factors = static_cast<std::int64_t>(corpus_->num_factors()); factors > 0) {
    std::vector<std::int32_t> own;
    corpus_->append_labels(example, own);
    for (const auto& of_piece : overlaps(src_tokenizer_, std::span(src).last(num_src), src_ids)) {
      const auto first = own.begin() + of_piece.front() * factors;
      labels.insert(labels.end(), first, first + factors);
    }
  }
  return {.src = num_src, .tgt = add(*tgt_, 1, tgt_ids, tgt)};
}

std::vector<PairLength> SampledPairs::lengths(std::int64_t epoch) const {
  std::vector<PairLength> lengths(static_cast<std::size_t>(corpus_->size()));
  in_parallel(lengths.size(), [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> src, tgt, labels;
    for (std::size_t i = begin; i < end; ++i) {
      src.clear(), tgt.clear(), labels.clear();
      lengths[i] = append(static_cast<std::int64_t>(i), epoch, src, tgt, labels);
    }
  });
  return lengths;
}

}  // namespace attend
