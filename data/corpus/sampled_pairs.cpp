#include "data/corpus/sampled_pairs.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "core/random.hpp"
#include "core/signals.hpp"

namespace attend {

SampledPairs::SampledPairs(const EncodedCorpus& corpus, const TokenizerPair& tokenizers, const SamplingConfig& config,
                           std::uint64_t seed, std::int64_t longest)
    : corpus_(&corpus),
      src_tokenizer_(tokenizers.src),
      src_(make_piece_sampler(config, tokenizers.src)),
      tgt_(make_piece_sampler(config, tokenizers.tgt)),
      seed_(seed),
      longest_(static_cast<std::size_t>(longest)) {
  if (corpus.num_factors() == 0 || src_->words_are_apart()) return;
  throw UserError(
      "--source-factors: the tokenizer of the source has pieces that span words, so that samples of them "
      "have no labels",
      "leave --bpe-dropout and --subword-alpha out, or give another tokenizer");
}

PairIds SampledPairs::pair(std::int64_t example, std::int64_t epoch) const {
  const auto sample = [&](const PieceSampler& sampler, int side, const std::vector<std::int32_t>& ids) {
    RandomStream random(combine_keys(seed_, epoch, corpus_->line(example), side));
    std::vector<std::int32_t> sampled = sampler.sample(ids, random);
    if (sampled.size() > longest_) return ids;
    return sampled;
  };
  const PairIds own = corpus_->pair(example);
  PairIds result{.src = sample(*src_, 0, own.src), .tgt = sample(*tgt_, 1, own.tgt)};
  if (const auto factors = static_cast<std::int64_t>(corpus_->num_factors()); factors > 0) {
    for (const auto& of_piece : overlaps(src_tokenizer_, result.src, own.src)) {
      const auto first = own.labels.begin() + of_piece.front() * factors;
      result.labels.insert(result.labels.end(), first, first + factors);
    }
  }
  return result;
}

double SampledPairs::growth() const {
  const auto longer = [](PairLength length) { return std::max(length.src, length.tgt) + 1; };
  const std::vector<PairLength> sampled = lengths(0, std::min<std::int64_t>(corpus_->size(), 10'000));
  double usual = 0, own = 0;
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    usual += longer(corpus_->length(static_cast<std::int64_t>(i)));
    own += longer(sampled[i]);
  }
  return own / usual;
}

std::vector<PairLength> SampledPairs::lengths(std::int64_t epoch, std::int64_t count) const {
  std::vector<PairLength> lengths(static_cast<std::size_t>(count));
  in_parallel(lengths.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (stopping_ || signals::stop_requested()) throw Interrupted("stopped while sampling pieces");
      lengths[i] = pair(static_cast<std::int64_t>(i), epoch).length();
    }
  });
  return lengths;
}

}  // namespace attend
