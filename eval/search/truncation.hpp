// Processors that shape the distribution from which a sample is drawn. They equal Transformers' processors, in the
// order of its `generate`: temperature, top-k, top-p, min-p, epsilon. Each sees the distribution that the one before it
// left, rescaled to a sum of 1.
#pragma once

#include "eval/search/processor.hpp"

namespace attend {

// Excludes tokens that no output contains, as a beam does (TargetIds::may_follow).
LogitsProcessor drop_unproduced(const TargetIds& ids, std::int64_t min_length);

// p^(1/T) / sum p^(1/T).
LogitsProcessor divide_by_temperature(double temperature);

// These exclude the tokens whose score is below a threshold. Of several scores equal to the threshold all are kept, and
// the highest score is always kept.

// Keeps the k highest (Fan et al. 2018, arXiv 1805.04833).
LogitsProcessor keep_top_k(std::int64_t k);

// Keeps the fewest highest whose probabilities sum to p or more (nucleus sampling: Holtzman et al. 2020, arXiv
// 1904.09751, equation 2). Example: of 0.5, 0.3 and 0.2 it keeps two for p = 0.7.
LogitsProcessor keep_top_p(double p);

// Keeps those with at least a share of the highest probability (Nguyen et al. 2024, arXiv 2407.01082).
LogitsProcessor keep_min_p(double share);

// Keeps those with at least the probability `epsilon`, or else the highest (Hewitt et al. 2022, arXiv 2210.15191).
LogitsProcessor keep_epsilon(double epsilon);

}  // namespace attend
