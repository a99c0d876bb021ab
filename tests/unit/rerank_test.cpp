// Reranking and minimum Bayes risk: scores and orders computed by hand.
#include "eval/postprocess.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "eval/metrics/bayes_risk.hpp"
#include "tests/support/families.hpp"
#include "tests/support/small_run.hpp"

namespace attend {
namespace {

Translation scored_text(const std::string& text, double score) {
  std::vector<float> token_log_probs;
  if (!text.empty()) token_log_probs.push_back(-1);
  return {.text = text, .hypothesis = {.ids = {}, .token_log_probs = token_log_probs, .score = score}};
}

double by_piece(const TranslationRun& run, const std::string& source, const std::string& target) {
  const std::vector<SourceLine> sources = {{source}};
  const TextScore found = score(run, sources, std::vector{target}, {}).front();
  return found.log_prob() / static_cast<double>(found.pieces.size());
}

TEST(Reranking, AddsTheWeightedLogProbabilityByPiece) {
  const TranslationRun run = small_run(families(0)[0].config, 9);
  const std::vector<SourceLine> lines = {{"the dog sees a cat"}, {""}};
  const std::vector<SourceLine> labelled = {{lines[0].text, {"DET NOUN VERB DET NOUN"}}, {"", {""}}};
  const std::vector<std::string> targets = {"birds", "a cat and 7 birds sees the number 12"};
  for (const RerankDirection direction : {RerankDirection::same, RerankDirection::reverse}) {
    std::vector<double> q;
    for (const std::string& target : targets) {
      q.push_back(direction == RerankDirection::same ? by_piece(run, lines[0].text, target)
                                                     : by_piece(run, target, lines[0].text));
    }
    ASSERT_NE(q[0], q[1]);
    const std::size_t better = q[0] > q[1] ? 0 : 1, worse = 1 - better;
    const double gap = q[better] - q[worse];
    // Search prefers the other by `gap`: half a weight keeps its order, twice the weight turns it round.
    for (const double weight : {0.0, 0.5, 2.0}) {
      std::vector<std::vector<Translation>> found = {
          {scored_text(targets[worse], -1), scored_text(targets[better], -1 - gap)}, {scored_text("", 0)}};
      const RerankConfig config{.rerank_weight = weight, .rerank_direction = direction};
      rerank(run, config, {.workers = 1}, weight > 1 ? labelled : lines, found);
      const std::size_t first = weight > 1 ? better : worse;
      EXPECT_EQ(found[0][0].text, targets[first]) << weight;
      EXPECT_EQ(found[0][1].text, targets[1 - first]) << weight;
      EXPECT_NEAR(found[0][0].hypothesis.score, (first == better ? -1 - gap : -1) + weight * q[first], 1e-4);
      ASSERT_EQ(found[1].size(), 1U);
      EXPECT_EQ(found[1][0].hypothesis.score, 0) << "a blank line is not rescored";
    }
  }
}

TEST(Reranking, SeesTheWholeBeamAndReturnsWhatIsWanted) {
  const TranslationRun run = small_run(families(0)[0].config, 9);
  const std::vector<std::string> lines = {"the dog", "", "a cat and 7 birds"};
  TranslatorConfig config{.search = {.beam = 5, .nbest = 2, .max_length = 6}, .workers = 1};
  Translator translator(*run.model, run.tokenizers, config);
  EXPECT_EQ(translator.translate(unlabelled(lines))[0].size(), 2U);
  std::size_t seen = 0;
  translator.rescore_with([&](const std::vector<SourceLine>& read, std::vector<std::vector<Translation>>& found) {
    EXPECT_EQ(read.back().text, lines.back());
    seen = found[0].size();
    for (auto& of_line : found) std::ranges::reverse(of_line);
  });
  config.search.nbest = 5;
  const auto all = Translator(*run.model, run.tokenizers, config).translate(unlabelled(lines));
  const auto found = translator.translate(unlabelled(lines));
  EXPECT_EQ(seen, 5U);
  ASSERT_EQ(found[0].size(), 2U);
  EXPECT_EQ(found[0][0].text, all[0][4].text);
  EXPECT_EQ(found[0][1].text, all[0][3].text);
  EXPECT_EQ(found[1].size(), 1U);
}

TEST(BayesRiskSearch, ReturnsTheHypothesisOfHighestUtility) {
  const TranslationRun run = small_run(families(0)[0].config, 9);
  const std::vector<std::string> lines = {"the dog", "", "a cat and 7 birds", "number 12"};
  TranslatorConfig config{.search = {.beam = 6, .nbest = 6, .max_length = 6}, .workers = 2};
  const auto all = Translator(*run.model, run.tokenizers, config).translate(unlabelled(lines));
  config.mbr = 6;
  for (const metrics::Utility utility : {metrics::Utility::chrf, metrics::Utility::bleu}) {
    config.utility = utility;
    const auto found = Translator(*run.model, run.tokenizers, config).translate(unlabelled(lines));
    ASSERT_EQ(found.size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      ASSERT_EQ(found[i].size(), 1U);
      if (lines[i].empty()) continue;
      std::vector<std::string> texts;
      for (const Translation& translation : all[i]) texts.push_back(translation.text);
      const metrics::RankedText best = metrics::rank_by_utility(texts, utility).front();
      EXPECT_EQ(found[i][0].text, texts[best.first]);
      EXPECT_EQ(found[i][0].hypothesis.score, best.utility);
    }
  }
}

TEST(BayesRiskSearch, ChoosesFromTheGivenHypothesesOrFromSamples) {
  const TranslatorConfig of_beam{.search = {.beam = 6, .nbest = 4}, .mbr = 4};
  EXPECT_EQ(of_beam.candidates().sample, 0);
  const TranslatorConfig of_given{.search = {.sample = 4, .top_p = 0.9}, .mbr = 4};
  EXPECT_FALSE(of_given.candidates().epsilon);
  const TranslatorConfig of_samples{.search = {}, .mbr = 4};
  EXPECT_EQ(of_samples.candidates().sample, 4);
  EXPECT_EQ(of_samples.candidates().epsilon, 0.02);
  const TranslatorConfig truncated{.search = {.top_k = 3}, .mbr = 4};
  EXPECT_EQ(truncated.candidates().sample, 4);
  EXPECT_FALSE(truncated.candidates().epsilon);
  const TranslatorConfig whole{.search = {.epsilon = 0}, .mbr = 4};
  EXPECT_EQ(whole.candidates().epsilon, 0) << "what is given holds";
  for (TranslatorConfig config : {of_beam, of_given, of_samples}) {
    config.mbr = 5;
    EXPECT_EQ(config.candidates().sample == 5, config.search.rows() == 1) << "only what is not given follows --mbr";
  }
}

TEST(BayesRiskSearch, SamplesAreChosenFromToo) {
  const TranslationRun run = small_run(families(0)[0].config, 9);
  const std::vector<std::string> lines = {"the dog", "a cat and 7 birds"};
  TranslatorConfig config{.search = {.max_length = 5, .sample = 9, .epsilon = 0.02}, .workers = 1};
  const auto samples = Translator(*run.model, run.tokenizers, config).translate(unlabelled(lines));
  const TranslatorConfig chooses{.search = {.max_length = 5}, .mbr = 9, .workers = 1};
  const auto found = Translator(*run.model, run.tokenizers, chooses).translate(unlabelled(lines));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> texts;
    for (const Translation& sample : samples[i]) texts.push_back(sample.text);
    ASSERT_EQ(texts.size(), 9U);
    ASSERT_EQ(found[i].size(), 1U);
    EXPECT_EQ(found[i][0].text, texts[metrics::rank_by_utility(texts, metrics::Utility::chrf).front().first]);
  }
}

}  // namespace
}  // namespace attend
