// The measurements of `attend compare` for encoders: runs of `attend finetune` and predictions of other programs on the
// records of a task, or runs of `attend pretrain` (masked or permuted) on a text.
#pragma once

#include "analysis/compare.hpp"
#include "analysis/pair_tests.hpp"
#include "analysis/report/comparison.hpp"
#include "eval/answers/answers.hpp"

namespace attend {

// A metric of the records, in percent, with the scores of the resamples; where it is the share of right records, which
// are right, so that McNemar's test compares them.
ScoredOutput scored_by(const NamedMeasure& measure, bool is_share_of_right, std::size_t records,
                       const metrics::Resamples& samples);

// UserError for runs, test files and predictions that cannot be compared. Interrupted after SIGINT or SIGTERM.
TaskComparison compare_tasks(const CompareConfig& config);

// The held-out loss and accuracy of the same masked tokens, the masks of the BERT paper, in sequences of the same
// length; with --objective permuted, of tokens in the same orders. UserError for runs of different vocabularies or
// objectives.
TaskComparison compare_masked(const CompareConfig& config);

}  // namespace attend
