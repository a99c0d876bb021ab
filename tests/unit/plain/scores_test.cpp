// Scores of labels and of candidate translations.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "core/random.hpp"
#include "eval/metrics/bayes_risk.hpp"
#include "eval/metrics/ngram_metrics.hpp"
#include "eval/metrics/predictions.hpp"

namespace attend::metrics {
namespace {

// Metrics of labels, numbers, tags and answers against what scikit-learn, SciPy, seqeval and SQuAD's scripts say of
// fixtures/labels.json (tests/parity/make_fixtures_labels.py).

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

// Minimum Bayes risk: utilities that equal the metrics' own, multiplicities, and lists whose best is known.

std::unique_ptr<Metric> metric_of(Utility utility) {
  if (utility == Utility::chrf) return std::make_unique<Chrf>();
  return std::make_unique<Bleu>();
}

double sentence_score(const Metric& metric, const std::string& hypothesis, const std::string& reference) {
  const std::string_view one[] = {reference};
  return metric.segment_value(metric.statistics(hypothesis, one));
}

// Sentences of 0 to 8 words of a few letters, some of them several times.
std::vector<std::string> random_texts() {
  RandomStream random(5);
  const std::vector<std::string> words = {"the", "dog,", "Männer", "are", "running.", "a", "中文", "x"};
  std::vector<std::string> texts = {"", "a"};
  for (int i = 0; i < 17; ++i) {
    std::string text;
    for (std::uint64_t k = random.below(9); k > 0; --k) text += words[random.below(words.size())] + (k > 1 ? " " : "");
    texts.push_back(text);
    if (i % 5 == 0) texts.push_back(text);
  }
  return texts;
}

TEST(BayesRisk, UtilitiesAreMeanSentenceScores) {
  const std::vector<std::string> texts = random_texts();
  for (const Utility utility : {Utility::chrf, Utility::bleu}) {
    const auto metric = metric_of(utility);
    const auto ranked = rank_by_utility(texts, utility);
    EXPECT_LT(ranked.size(), texts.size()) << "equal texts are one";
    for (std::size_t n = 0; n < ranked.size(); ++n) {
      double sum = 0;
      for (std::size_t r = 0; r < texts.size(); ++r) {
        if (r != ranked[n].first) sum += sentence_score(*metric, texts[ranked[n].first], texts[r]);
      }
      EXPECT_NEAR(ranked[n].utility, sum / static_cast<double>(texts.size() - 1), 1e-9) << texts[ranked[n].first];
      if (n > 0) {
        EXPECT_GE(ranked[n - 1].utility, ranked[n].utility);
      }
    }
  }
}

TEST(BayesRisk, TheBestIsMostLikeTheOthers) {
  const std::vector<std::string> texts = {"completely different words here", "the dog runs over the green field",
                                          "the dog runs over a green field", "the dog ran over the green meadow"};
  for (const Utility utility : {Utility::chrf, Utility::bleu}) {
    const auto ranked = rank_by_utility(texts, utility);
    EXPECT_EQ(ranked.front().first, 1U);
    EXPECT_EQ(ranked.back().first, 0U);
  }
}

// One text of each kind: the first wins a tie. A text drawn twice has itself as a reference.
TEST(BayesRisk, EqualTextsCountAsOftenAsTheyOccur) {
  for (const Utility utility : {Utility::chrf, Utility::bleu}) {
    const std::vector<std::string> once = {"a b c d", "e f g h"}, twice = {"a b c d", "e f g h", "e f g h"};
    EXPECT_EQ(rank_by_utility(once, utility)[0].first, 0U);
    const auto ranked = rank_by_utility(twice, utility);
    ASSERT_EQ(ranked.size(), 2U);
    EXPECT_EQ(ranked[0].first, 1U);
    EXPECT_NEAR(ranked[0].utility, 50, 1e-9) << "100 against itself, 0 against the other";
    EXPECT_NEAR(ranked[1].utility, 0, 1e-9);
  }
}

// chrF weighs recall twice as much as precision and sees characters; BLEU sees words and punishes brevity.
TEST(BayesRisk, UtilitiesDiffer) {
  const std::vector<std::string> texts = {"walked slowly home", "walking slowly homes", "he walks slow at home",
                                          "walked at home yesterday", "walks slowly homeward"};
  const auto by_chrf = rank_by_utility(texts, Utility::chrf), by_bleu = rank_by_utility(texts, Utility::bleu);
  bool differs = false;
  for (std::size_t n = 0; n < texts.size(); ++n) differs = differs || by_chrf[n].first != by_bleu[n].first;
  EXPECT_TRUE(differs);
}

TEST(BayesRisk, FewTexts) {
  EXPECT_TRUE(rank_by_utility({}, Utility::chrf).empty());
  const std::vector<std::string> one = {"a"};
  const auto ranked = rank_by_utility(one, Utility::bleu);
  ASSERT_EQ(ranked.size(), 1U);
  EXPECT_EQ(ranked[0].utility, 0);
}

}  // namespace
}  // namespace attend::metrics
