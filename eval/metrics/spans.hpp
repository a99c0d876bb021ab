// Answers to questions beside the gold ones, as the official scripts of SQuAD score them: 1.1 (Rajpurkar et al. 2016)
// and 2.0 (Rajpurkar et al. 2018), where a question may have no answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend::metrics {

// Lower case, without ASCII punctuation and the articles a, an, the; words joined by single spaces.
std::string normalise_answer(std::string_view answer);

struct AnswerScore {
  double exact = 0;  // 0 or 1
  double f1 = 0;     // of the words, as bags
};

// The best over the gold answers, of which there is one at least. Where both sides are empty when normalised, exact is
// 1 and f1 is 0: the script's word.
AnswerScore score_answer(std::string_view predicted, const std::vector<std::string>& gold);

// The same by SQuAD 2.0: an empty prediction says that there is no answer; gold answers that are empty when normalised
// do not count, and without any the right prediction is the empty one; f1 of two empty sides is 1.
AnswerScore score_answer_or_none(std::string_view predicted, const std::vector<std::string>& gold);

// The threshold on the score for "no answer" above which the empty answer is given, so that the mean of `score` over
// the questions is largest (the script's find_best_thresh).
struct NoAnswerQuestion {
  double no_answer = 0;     // the higher, the likelier is no answer
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
