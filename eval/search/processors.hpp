// The tokens that may follow each hypothesis, and the processors that change their scores.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "eval/search/hypothesis.hpp"
#include "eval/search/search.hpp"

namespace attend {

// A logits processor: changes the scores by which search chooses the next token of a hypothesis. The probabilities that
// are reported remain those of the model.

// Changes the scores of the next token [V] of one hypothesis: log p, as earlier processors left it. Called by one
// thread at a time.
using LogitsProcessor = std::function<void(const OpenSentence& sentence, const Live& live, std::span<float> scores_V)>;
using LogitsProcessors = std::vector<LogitsProcessor>;

// The score of a token that cannot follow.
inline constexpr float kExcluded = -std::numeric_limits<float>::infinity();

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

// Processors against repetition, for beams and samples. Repeating the prompt counts, too.

// Multiplies log p of every token that the hypothesis contains by a factor, once however often it occurs (Keskar et al.
// 2019, arXiv 1909.05858, section 4.1). The paper divides logits, whose sign it leaves open; as in Transformers' beam
// search, a score above 0 is divided and any other, as log p is, multiplied.
LogitsProcessor penalise_repetition(double penalty);

// Excludes every token that would complete a sequence of `length` tokens for a second time (Paulus et al. 2018, arXiv
// 1705.04304, section 2.5, for trigrams; as in fairseq and Transformers). Example, length 2: after "a b a", b cannot
// follow.
LogitsProcessor forbid_repeated_ngrams(std::int64_t length);

// Processors that shape the distribution from which a sample is drawn. They equal Transformers' processors, in the
// order of its `generate`: temperature, top-k, top-p, min-p, epsilon. Each sees the distribution that the one before it
// left, rescaled to a sum of 1.

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

// Processors for the requests of a sentence (Wanted).

// A prefix with which the output begins: only its next token may follow, with the model's log p, which counts. Other
// processors do not change the prefix; they act after it.
LogitsProcessor force_prefix(LogitsProcessors after);

// Phrases that must not occur, as Transformers' bad_words_ids: the last token of a phrase may not follow the others. A
// word at a place without a space before it may be tokenized differently; that form is forbidden where no word
// precedes.
//
//   forbidden "dog": spaced {▁dog}, unspaced {dog}
//   ▁the ▁dog    not this one
//   ▁( dog       nor this one
//   ▁bull dog    allowed: another word
LogitsProcessor forbid_phrases();

// Ends an output for which Wanted::stops is true: only eos may follow, with score 0. The reported log p of eos remains
// the model's.
LogitsProcessor stop_at_text(std::int64_t eos);

}  // namespace attend
