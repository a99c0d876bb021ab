// The tokens that may follow each hypothesis, and the processors that change their scores.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "eval/search/hypothesis.hpp"
#include "eval/search/search.hpp"

namespace attend {

// Changes the scores by which search chooses the next token [V] of one hypothesis: log p, as earlier processors left
// it. The probabilities that are reported remain those of the model. Called by one thread at a time.
using LogitsProcessor = std::function<void(const OpenSentence& sentence, const Live& live, std::span<float> scores_V)>;
using LogitsProcessors = std::vector<LogitsProcessor>;

// The processors for the options, prefixes, forbidden phrases and stops, in the order in which they are applied;
// usually none.
LogitsProcessors make_processors(const SearchConfig& config, const TargetIds& ids, std::span<const Wanted> wanted);

// The tokens that may follow each hypothesis of a step.

struct NextToken {
  std::int64_t id = 0;
  float log_prob = 0;  // the model's
  float score = 0;     // after the processors
};

class NextTokens {
 public:
  // Of logits [R, V], whose rows are the live hypotheses of the sentences in their order: the best `per_row` tokens of
  // every row, perhaps none, and, if `whole` or if there are processors, the scores of all.
  NextTokens(const torch::Tensor& logits_RV, std::int64_t per_row, bool whole, const LogitsProcessors& processors,
             std::span<const OpenSentence> sentences);

  // The tokens of the highest scores, best first; of equal ones the smaller id. Scores that are not finite are left
  // out.
  std::span<const NextToken> best(std::int64_t row) const {
    return std::span(best_).subspan(starts_[row], starts_[row + 1] - starts_[row]);
  }

  // The scores of all tokens [V], and the model's log p of them; only with `whole` or processors.
  std::span<const float> scores(std::int64_t row) const { return row_of(scores_RV_, row); }
  std::span<const float> log_probs(std::int64_t row) const { return row_of(log_probs_RV_, row); }

 private:
  static std::span<const float> row_of(const torch::Tensor& values_RV, std::int64_t row) {
    const std::int64_t size = values_RV.size(1);
    return {values_RV.const_data_ptr<float>() + row * size, static_cast<std::size_t>(size)};
  }

  std::vector<NextToken> best_;
  std::vector<std::size_t> starts_ = {0};  // of every row in best_, and the end
  torch::Tensor log_probs_RV_;
  torch::Tensor scores_RV_;
};

}  // namespace attend
