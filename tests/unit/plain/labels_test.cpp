// Metrics of labels, numbers, tags and answers against what scikit-learn, SciPy, seqeval and SQuAD's scripts say of
// fixtures/labels.json (tests/parity/make_fixtures_labels.py).
#include "eval/metrics/predictions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"

namespace attend::metrics {
namespace {

using nlohmann::json;
constexpr double kClose = 1e-12;

const json& labels_fixture() {
  static const json content = read_json(ATTEND_SOURCE_DIR "/tests/parity/fixtures/labels.json");
  return content;
}

void expect_number(double ours, const json& theirs) {
  if (theirs.is_null()) {
    EXPECT_TRUE(std::isnan(ours));
  } else {
    EXPECT_NEAR(ours, theirs.get<double>(), kClose);
  }
}

TEST(Labels, EqualScikitLearn) {
  for (const json& entry : labels_fixture().at("labels")) {
    const auto predicted = entry.at("predicted").get<std::vector<std::int64_t>>();
    const auto gold = entry.at("gold").get<std::vector<std::int64_t>>();
    expect_number(accuracy(predicted, gold), entry.at("accuracy"));
    expect_number(f1(predicted, gold, 1), entry.at("f1"));
    expect_number(matthews(predicted, gold), entry.at("matthews"));
  }
}

TEST(Labels, EqualSciPy) {
  for (const json& entry : labels_fixture().at("numbers")) {
    const auto predicted = entry.at("predicted").get<std::vector<double>>();
    const auto gold = entry.at("gold").get<std::vector<double>>();
    expect_number(pearson(predicted, gold), entry.at("pearson"));
    expect_number(spearman(predicted, gold), entry.at("spearman"));
  }
}

TEST(Labels, NumbersThatAreNaNHaveNoCorrelation) {
  const std::vector<double> some_nan = {2, std::nan(""), 1}, numbers = {1, 2, 3};
  for (const auto& [predicted, gold] : {std::pair(some_nan, numbers), std::pair(numbers, some_nan)}) {
    EXPECT_TRUE(std::isnan(pearson(predicted, gold)));
    EXPECT_TRUE(std::isnan(spearman(predicted, gold)));
  }
}

TEST(Chunks, EqualSeqeval) {
  using Tags = std::vector<std::vector<std::string>>;
  for (const json& entry : labels_fixture().at("tags")) {
    const auto predicted = entry.at("predicted").get<Tags>(), gold = entry.at("gold").get<Tags>();
    ChunkTally tally;
    for (std::size_t i = 0; i < gold.size(); ++i) tally.add(predicted[i], gold[i]);
    expect_number(tally.token_accuracy(), entry.at("accuracy"));
    const auto expected = entry.at("conlleval").get<std::vector<double>>();
    EXPECT_NEAR(tally.total().precision(), expected[0], kClose) << entry.at("predicted");
    EXPECT_NEAR(tally.total().recall(), expected[1], kClose);
    EXPECT_NEAR(tally.total().f1(), expected[2], kClose);
  }
}

TEST(Answers, EqualTheOfficialScripts) {
  for (const json& entry : labels_fixture().at("answers")) {
    const auto predicted = entry.at("predicted").get<std::string>();
    const auto gold = entry.at("gold").get<std::vector<std::string>>();
    EXPECT_EQ(normalise_answer(predicted), entry.at("normalised").get<std::string>());
    const AnswerScore one = score_answer(predicted, gold), two = score_answer_or_none(predicted, gold);
    EXPECT_NEAR(one.exact, entry.at("exact").get<double>(), kClose) << entry;
    EXPECT_NEAR(one.f1, entry.at("f1").get<double>(), kClose) << entry;
    EXPECT_NEAR(two.exact, entry.at("exact_2").get<double>(), kClose) << entry;
    EXPECT_NEAR(two.f1, entry.at("f1_2").get<double>(), kClose) << entry;
  }
}

TEST(Answers, TheBestThresholdIsTheScripts) {
  for (const json& entry : labels_fixture().at("thresholds")) {
    std::vector<NoAnswerQuestion> questions;
    for (const json& question : entry.at("questions")) {
      questions.push_back(
          {.no_answer = question[0], .has_answer = question[1], .answered = question[2], .score = question[3]});
    }
    const BestThreshold best = best_threshold(questions);
    EXPECT_NEAR(100 * best.mean, entry.at("best").get<double>(), 1e-9);
    EXPECT_EQ(best.threshold, entry.at("threshold").get<double>());
  }
}

// The scores of a model are no probabilities: to answer nothing takes a threshold below all of them.
TEST(Spans, NothingIsAnsweredBelowTheLeastScore) {
  const BestThreshold best = best_threshold({{.no_answer = -3, .has_answer = false, .answered = true, .score = 0},
                                             {.no_answer = -5, .has_answer = false, .answered = true, .score = 0}});
  EXPECT_EQ(best.mean, 1);
  EXPECT_LT(best.threshold, -5);
}

}  // namespace
}  // namespace attend::metrics
