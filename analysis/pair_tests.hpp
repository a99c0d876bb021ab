// Tests of differences between systems, pair by pair.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/report/head_report.hpp"
#include "analysis/run_groups.hpp"
#include "data/text/minimal_pairs.hpp"
#include "eval/answers/answers.hpp"
#include "eval/metrics/metric.hpp"
#include "eval/metrics/significance.hpp"
#include "eval/score.hpp"
#include "models/run/run.hpp"

namespace attend {

// Scores with bootstrap resamples of their sentences, and paired tests of the changes from one system to others.

// Of a sentence: the sum of -log p of its pieces, and their number.
struct SentenceLoss {
  double loss = 0;
  std::int64_t pieces = 0;
};

// Of scored sentences.
inline std::vector<SentenceLoss> losses_of(const std::vector<TextScore>& scores) {
  std::vector<SentenceLoss> losses;
  for (const TextScore& score : scores) losses.push_back({-score.log_prob(), std::ssize(score.pieces)});
  return losses;
}

// A function of the ratio of two sums, from rows of two numbers of segments.
class RatioOfSums final : public metrics::Measure {
 public:
  using Function = double (*)(double);
  RatioOfSums(std::string name, Function of) : name_(std::move(name)), of_(of) {}

  std::size_t width() const override { return 2; }
  double value(std::span<const double> sums) const override { return of_(sums[0] / sums[1]); }
  std::string name() const override { return name_; }

 private:
  std::string name_;
  Function of_;
};
// The mean of numbers, such as the loss of a piece from rows (loss, pieces) of sentences.
inline const RatioOfSums kMean("Mean", [](double mean) { return mean; });
// exp(-log p / words), from rows (-log p in nats, words) of documents; the end of a document counts as a word.
inline const RatioOfSums kPerplexityByWord("Perplexity by word", [](double loss) { return std::exp(loss); });
// -log2 p / bytes, from rows (-log p in nats, bytes) of documents.
inline const RatioOfSums kBitsPerByte("Bits per byte", [](double loss) { return loss / std::numbers::ln2; });

// One row for each sentence that has pieces.
metrics::Rows rows_of(const std::vector<SentenceLoss>& losses);

// The score of segments, and those of their resamples.
struct ScoredOutput {
  double value = 0;
  std::size_t segments = 0;
  std::vector<double> resampled;
  std::optional<metrics::Rows> rows = {};  // of a score that is computed from sums of statistics
  std::vector<bool> right = {};            // of a share of right segments: whether each is
};

// So many that a p-value of the bootstrap can be below 0.05 after Holm's correction for this number of tests.
metrics::Resamples resamples_for(std::size_t segments, std::size_t tests);
ScoredOutput with_resamples(metrics::Rows rows, const metrics::Resamples& samples);
// A metric of the records of a task, in percent; where it is the share of right records, with which are right, so that
// McNemar's test compares them.
ScoredOutput scored_by(const NamedMeasure& measure, bool is_share_of_right, std::size_t records,
                       const metrics::Resamples& samples);

// The score with its interval.
Estimate estimate_of(const ScoredOutput& output);
// A number over n items, with its bootstrap interval; `number` receives the indices of items.
Estimate estimate_over(std::size_t n, const std::function<double(std::span<const std::size_t>)>& number);

// The change from one score to another of the same segments and resamples, with its interval and the p-value of the
// paired bootstrap, which is not corrected.
TestedChange change_between(const ScoredOutput& before, const ScoredOutput& after);

class PairedChanges {
 public:
  // From the score of `before` to those of `count` others.
  PairedChanges(const metrics::Rows& before, std::size_t count);

  // The change to the score of `after`, rows of the same sentences.
  void add(const metrics::Rows& after) { changes_.push_back(change_between(before_, with_resamples(after, samples_))); }

  // All changes, in order, with 95 % bootstrap intervals and p-values of the paired bootstrap, corrected for all.
  std::vector<TestedChange> tested() const;

 private:
  metrics::Resamples samples_;
  ScoredOutput before_;
  std::vector<TestedChange> changes_;
};

// Tests of all pairs on scored[output][metric], where the runs of a system are numbers of outputs: by McNemar's test,
// by the bootstrap and the randomisation, or by the bootstrap alone (PairTest). A system's first run stands for it,
// except in the tests over seeds. Interrupted after SIGINT or SIGTERM.
std::vector<PairTest> test_pairs(const std::vector<SystemRuns>& systems,
                                 const std::vector<std::vector<ScoredOutput>>& scored,
                                 const std::vector<ComparedMetric>& compared);

// The accuracy of systems on minimal pairs (data/text/minimal_pairs.hpp), and a test for each pair of systems.

struct PairsFile {
  std::string name;
  std::vector<MinimalPair> pairs;
};

// UserError as read_minimal_pairs.
std::vector<PairsFile> read_pairs_files(const std::vector<std::string>& files, PairsOf what);

// log p of a pair's sentences; of translations, given the source.
struct PairLogProbs {
  double better = 0;
  double worse = 0;
};

// Of every pair, in order. Interrupted after SIGINT or SIGTERM.
std::vector<PairLogProbs> score_each(const TranslationRun& run, std::span<const MinimalPair> pairs,
                                     const ScoreConfig& config);
std::vector<PairLogProbs> score_each(const LanguageRun& run, std::span<const MinimalPair> pairs,
                                     const ScoreConfig& config);

// The results on a file, from each system's scores of its pairs (none for a system without a model).
ContrastSet contrast_set(const PairsFile& file, const std::vector<std::optional<std::vector<PairLogProbs>>>& systems);

}  // namespace attend
