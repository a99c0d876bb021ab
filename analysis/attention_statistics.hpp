// The attention of sentences that reports keep, and its statistics.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "data/text/word_alignment.hpp"
#include "eval/metrics/predictions.hpp"
#include "models/run/run.hpp"

namespace attend {

// Statistics of the attention of heads (HeadStatistics) over sentence pairs, from weights of T target and S source
// pieces:
//
//   entropy       mean over t of -Σ_s w_ts ln w_ts; ln S for uniform weights, 0 for attention to one position
//   coverage      mean over s of min(1, Σ_t w_ts) (cf. Wu et al. 2016, arXiv 1609.08144, eq. 14)
//   distance      mean over t of |Σ_s s w_ts / Σ_s w_ts - t S / T|: the distance from the diagonal
//   monotonicity  share of the steps t > 0 whose likeliest position is not before that of t - 1
//   alignment error rate of the links that eval/pair_attention.hpp derives from the weights
//
// Means are over all target (source) pieces of the corpus, including the ends of sentences, but for target pieces
// that a local scope leaves without weights.

// The sums of one head.
class HeadTally {
 public:
  // The weights of a sentence pair, [T, S] fp32.
  void add(const torch::Tensor& weights_TS);
  // Adds the links derived from them, for sentences with gold links.
  void add_links(const std::vector<Link>& links, const SentenceLinks& gold) { links_.add(links, gold); }

  // Without target pieces, all numbers are 0, except that monotonicity is 1 if no step follows another.
  HeadStatistics statistics(std::int64_t layer, std::int64_t head) const;

 private:
  double entropy_ = 0, coverage_ = 0, distance_ = 0;
  std::int64_t source_pieces_ = 0, target_pieces_ = 0, steps_ = 0, steps_onwards_ = 0;
  metrics::AlignmentTally links_;
};

// Statistics of the attention to the source for the lines of `source` and their given translations: for every layer its
// heads, then their mean (head -1; omitted for a layer with one head). `gold` is empty or has links for every line.
// Empty for a model without attention. Weights below the threshold are cut as in search. Interrupted after SIGINT or
// SIGTERM.
std::vector<HeadStatistics> attention_statistics(const TranslationRun& run, const std::vector<std::string>& source,
                                                 const std::vector<std::string>& target,
                                                 const std::vector<SentenceLinks>& gold, double threshold);

// The attention of the compared sentences that a report keeps. A sentence has weights of all layers and heads for two
// texts of every system, so those of a large test set would not fit into memory.

// Adds the maps of the first sentences, until the page holds no more (kAttentionBudget) or their weights take
// kMostKeptWeights bytes, and counts the sentences left out; or of `all`, whatever their size. `models` is parallel to
// the systems; null without a model. Weights below the threshold are cut as in search. Interrupted after SIGINT or
// SIGTERM.
inline constexpr std::size_t kMostKeptWeights = std::size_t{32} << 20;
void add_attention(Comparison& comparison, const std::vector<const TranslationRun*>& models, double threshold,
                   bool all);

}  // namespace attend
