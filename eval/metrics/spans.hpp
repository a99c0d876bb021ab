// Scores answers against gold ones as SQuAD's official scripts do: 1.1 (Rajpurkar et al. 2016) and 2.0 (Rajpurkar et
// al. 2018), where a question may be unanswerable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend::metrics {

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

}  // namespace attend::metrics
