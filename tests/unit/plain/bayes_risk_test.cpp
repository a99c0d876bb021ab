// Minimum Bayes risk: utilities that equal the metrics' own, multiplicities, and lists whose best is known.
#include "eval/metrics/bayes_risk.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "eval/metrics/ngram_metrics.hpp"

namespace attend::metrics {
namespace {

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
