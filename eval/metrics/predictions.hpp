// Metrics of predicted labels, numbers, spans, chunks and word alignments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/word_alignment.hpp"

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

// The alignment error rate of Och and Ney 2003 (A Systematic Comparison of Various Statistical Alignment Models,
// section 6, eq. 33 and 34), of links A against sure links S and possible links P, of which S is a part:
//
//   precision = |A ∩ P| / |A|,  recall = |A ∩ S| / |S|,  AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
//
//   gold "0-0 1-1 1?2", links "0-0 1-2 2-1":  precision 2/3, recall 1/2, AER = 1 - (1 + 2) / (3 + 2) = 0.4
//
// Counts are summed over the sentences of a corpus. Not included: links to the empty word.
class AlignmentTally {
 public:
  // The links of one sentence pair, sorted and without duplicates as in SentenceLinks.
  void add(const std::vector<Link>& links, const SentenceLinks& gold);

  std::int64_t links() const { return links_; }        // |A|
  std::int64_t sure() const { return sure_; }          // |S|
  std::int64_t possible() const { return possible_; }  // |P|

  // In percent. Without links precision is 0; without sure links recall is 0; without either the error rate is 0.
  double precision() const;
  double recall() const;
  double error_rate() const;

 private:
  std::int64_t links_ = 0;
  std::int64_t sure_ = 0;
  std::int64_t possible_ = 0;
  std::int64_t right_and_sure_ = 0;      // |A ∩ S|
  std::int64_t right_and_possible_ = 0;  // |A ∩ P|
};

}  // namespace attend::metrics
