// Metrics of predicted labels, numbers, spans and chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend::metrics {

// Metrics of predicted labels and numbers against gold ones: those of GLUE (Wang et al. 2018), equal to scikit-learn's
// and SciPy's. Both sides have the same non-zero length.

using Labels = std::span<const std::int64_t>;
using Numbers = std::span<const double>;

// Accuracy: the fraction of equal labels.
double accuracy(Labels predicted, Labels gold);

// F1 of the label `positive`; 0 if neither side has it.
double f1(Labels predicted, Labels gold, std::int64_t positive);

// Matthews' correlation for any number of labels (Gorodkin 2004); 0 if one side is constant.
double matthews(Labels predicted, Labels gold);

// Pearson and Spearman correlation (ties share their mean rank). NaN if one side is constant or contains a NaN.
double pearson(Numbers predicted, Numbers gold);
double spearman(Numbers predicted, Numbers gold);

// Scores answers against gold ones as SQuAD's official scripts do: 1.1 (Rajpurkar et al. 2016) and 2.0 (Rajpurkar et
// al. 2018), where a question may be unanswerable.

// Lower-cases, removes ASCII punctuation and the articles a, an, the, and joins words by single spaces.
std::string normalise_answer(std::string_view answer);

struct AnswerScore {
  double exact = 0;  // 0 or 1
  double f1 = 0;     // of the words, as bags
};

// The best over the gold answers (at least one). If both sides are empty when normalised, exact is 1 and f1 is 0, as in
// the script.
AnswerScore score_answer(std::string_view predicted, const std::vector<std::string>& gold);

// The same for SQuAD 2.0: an empty prediction means "no answer"; gold answers that are empty when normalised are
// ignored; without gold answers only the empty prediction is correct; f1 of two empty sides is 1.
AnswerScore score_answer_or_none(std::string_view predicted, const std::vector<std::string>& gold);

// The threshold on the "no answer" score above which the empty answer is given, chosen to maximise the mean `score`
// (the script's find_best_thresh).
struct NoAnswerQuestion {
  double no_answer = 0;     // higher means "no answer" is more likely
  bool has_answer = false;  // in the gold data
  bool answered = false;    // the prediction is not empty
  double score = 0;         // of the prediction
};
struct BestThreshold {
  double mean = 0;
  double threshold = 0;
};
BestThreshold best_threshold(std::vector<NoAnswerQuestion> questions);

// Named entities and other chunks: extracts chunks from tags and computes precision, recall and F1 over a corpus as
// seqeval does (Nakayama 2018) in its default mode, as conlleval: an I- without an open chunk of its type starts one.

// Counts of predicted chunks, gold chunks, and chunks in both.
class ChunkTally {
 public:
  struct Counts {
    std::size_t predicted = 0, gold = 0, both = 0;
    double precision() const;  // 0 if nothing is predicted
    double recall() const;
    double f1() const;
  };

  // Adds the tags of one sentence, the same number on both sides.
  void add(const std::vector<std::string>& predicted, const std::vector<std::string>& gold);
  // Adds another tally.
  void add(const ChunkTally& other);

  const Counts& total() const { return total_; }
  double token_accuracy() const;  // including O

 private:
  Counts total_;
  std::size_t tokens_ = 0, equal_tokens_ = 0;
};

}  // namespace attend::metrics
