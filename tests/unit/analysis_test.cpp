// The parts of a comparison that score and search, by hand and against scoring and searching directly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attention_output.hpp"
#include "analysis/attention_statistics.hpp"
#include "analysis/cross_scores.hpp"
#include "analysis/report/sentence_data.hpp"
#include "analysis/searches.hpp"
#include "eval/metrics/ngram_metrics.hpp"
#include "models/attention/edits.hpp"
#include "tests/support/families.hpp"
#include "tests/support/small_run.hpp"

namespace attend {
namespace {

ForcedPiece forced(double confidence, bool is_best) {
  return {.log_prob = std::log(confidence / 2), .best_log_prob = std::log(confidence), .is_best = is_best};
}

// The example of cross_scores.hpp.
TEST(CalibrationOfReferences, IsCountedInBinsOfConfidence) {
  const std::vector<TextScore> reference = {{.pieces = {forced(0.95, true), forced(0.55, false)}},
                                            {.pieces = {forced(0.55, true)}},
                                            {.pieces = {forced(0.92, true)}}};
  const Calibration found = calibration(reference);
  ASSERT_EQ(found.bins.size(), 2U);
  EXPECT_NEAR(found.bins[0].confidence, 0.55, 1e-12);
  EXPECT_NEAR(found.bins[0].accuracy, 0.5, 1e-12);
  EXPECT_EQ(found.bins[0].count, 2);
  EXPECT_NEAR(found.bins[1].confidence, 0.935, 1e-12);
  EXPECT_NEAR(found.bins[1].accuracy, 1, 1e-12);
  EXPECT_EQ(found.bins[1].count, 2);
  EXPECT_NEAR(found.expected_error, 0.0575, 1e-12);
}

// A bin that is right on average and wrong at either end has no error of its own; neighbouring bins do not mix.
TEST(CalibrationOfReferences, HasTenBinsAndNoError) {
  std::vector<TextScore> reference(1);
  for (int tenth = 0; tenth < 10; ++tenth) {
    for (int i = 0; i < 100; ++i) reference[0].pieces.push_back(forced(0.05 + 0.1 * tenth, i < 5 + 10 * tenth));
  }
  const Calibration found = calibration(reference);
  ASSERT_EQ(found.bins.size(), 10U);
  for (std::size_t b = 0; b < 10; ++b) EXPECT_NEAR(found.bins[b].confidence, found.bins[b].accuracy, 1e-12);
  EXPECT_NEAR(found.expected_error, 0, 1e-12);
}

TEST(CalibrationOfReferences, KnowsCertaintyAndLeavesOutWhatIsNotANumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<TextScore> reference = {
      {.pieces = {forced(1, true), {.log_prob = nan, .best_log_prob = nan, .is_best = true}, forced(1, false)}}};
  const Calibration found = calibration(reference);
  ASSERT_EQ(found.bins.size(), 1U);
  EXPECT_EQ(found.bins[0].count, 2);
  EXPECT_NEAR(found.expected_error, 0.5, 1e-12);
  EXPECT_TRUE(calibration(std::vector<TextScore>{}).bins.empty());
  EXPECT_EQ(calibration(std::vector<TextScore>{}).expected_error, 0);
}

const std::vector<std::string> kSource = {"the dog", "a cat and 7 birds sees the number 12", "birds", "dog dog",
                                          "number 3 sees a dog"};
const std::vector<std::string> kReference = {"a dog", "the number of birds is 7", "cat", "the birds", "sees 3"};

TEST(CalibrationOfReferences, IsOfAModelsOwnProbabilities) {
  const TranslationRun run = small_run(families(0)[2].config, 3);
  const auto scores = score(run, kSource, kReference, {});
  std::int64_t pieces = 0, best = 0;
  for (const TextScore& one : scores) {
    for (const ForcedPiece& piece : one.pieces) ++pieces, best += piece.is_best;
  }
  const Calibration found = calibration(scores);
  std::int64_t counted = 0;
  double right = 0;
  for (const CalibrationBin& bin : found.bins) {
    counted += bin.count;
    right += bin.accuracy * static_cast<double>(bin.count);
  }
  EXPECT_EQ(counted, pieces);
  EXPECT_NEAR(right, static_cast<double>(best), 1e-9);
}

// The lines, and another at the end: a blank source, or its reference.
std::vector<std::string> and_line(std::vector<std::string> lines, const std::string& last) {
  lines.push_back(last);
  return lines;
}

double mean_log_prob(const TranslationRun& run, const std::vector<std::string>& target) {
  double sum = 0;
  for (std::size_t i = 0; i < kSource.size(); ++i) {
    sum += score(run, std::vector{kSource[i]}, std::vector{target[i]}, {})[0].log_prob();
  }
  return sum / static_cast<double>(kSource.size());
}

// As if search had found it with this probability.
Translation found(const std::string& text, double log_prob) {
  return {.text = text, .hypothesis = {.ids = {}, .log_prob = log_prob}};
}

TEST(CrossScoring, IsEveryModelsMeanOfEveryTextButBlankOnes) {
  const std::vector<TranslationRun> runs = {small_run(families(0)[0].config, 4), small_run(families(0)[2].config, 5)};
  const std::vector<std::vector<std::string>> outputs = {{"a dog", "a cat", "", "birds", "dog dog dog"}, kSource};
  TranslatedText text{.source = and_line(kSource, " "), .reference = and_line(kReference, "cat"), .outputs = {}};
  for (std::size_t s = 0; s < 2; ++s) {
    auto& translations = text.outputs.emplace_back();
    for (const std::string& line : outputs[s]) translations.push_back(found(line, -7.0 - static_cast<double>(s)));
    translations.push_back(found("", 0));
  }
  std::vector<std::optional<ModelScores>> models;
  for (std::size_t s = 0; s < 2; ++s) models.push_back(score_translations(runs[s], s, text, {}));
  models.emplace_back();  // a system without a model
  const CrossScores result = cross_scores(models, text.source, 1);
  ASSERT_EQ(result.log_prob.size(), 3U);
  ASSERT_EQ(result.search_errors.size(), 3U);
  EXPECT_TRUE(result.log_prob[2].empty());
  for (std::size_t s = 0; s < 2; ++s) {
    ASSERT_EQ(result.log_prob[s].size(), 3U);
    EXPECT_NEAR(*result.log_prob[s][s], -7.0 - static_cast<double>(s), 1e-9) << "its own, as search found it";
    EXPECT_NEAR(*result.log_prob[s][1 - s], mean_log_prob(runs[s], outputs[1 - s]), 1e-4);
    EXPECT_NEAR(*result.log_prob[s][2], mean_log_prob(runs[s], kReference), 1e-4);
  }
}

// A real search: where the pieces it found are the tokenizer's, forced decoding of its output says the same.
TEST(CrossScoring, ScoresOfAnOutputAreThoseOfItsSearch) {
  const TranslationRun run = small_run(families(0)[2].config, 6);
  const TranslatorConfig search{.search = {.beam = 3, .max_length = 8}, .workers = 1};
  TranslatedText text{.source = kSource, .reference = kReference, .outputs = {{}, {}}};
  for (const auto& translations : Translator(*run.model, run.tokenizers, search).translate(kSource)) {
    for (auto& output : text.outputs) output.push_back(translations[0]);
  }
  const ModelScores scores = score_translations(run, 0, text, {});
  int compared = 0;
  for (std::size_t i = 0; i < kSource.size(); ++i) {
    const Hypothesis& hypothesis = text.outputs[0][i].hypothesis;
    if (hypothesis.ids.size() == 8 || run.tokenizers.tgt.encode(text.outputs[0][i].text) != hypothesis.ids) continue;
    EXPECT_NEAR(scores.outputs[0][i], scores.outputs[1][i], 1e-4);
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

// An output with a log-probability above the reference's is not found by the lower one's rank, and the other way round:
// what search maximises is divided by the length.
TEST(CrossScoring, ASearchErrorIsAReferenceThatRanksAboveTheOutput) {
  const TranslationRun run = small_run(families(0)[2].config, 6);
  const auto reference = score(run, kSource, kReference, {});
  TranslatedText text{.source = kSource, .reference = kReference, .outputs = {{}, {}}};
  const auto output = [&](std::size_t i, double log_prob_above, double rank_above, bool ended = true) {
    const double log_prob = reference[i].log_prob();
    return Translation{.text = "a dog sees",
                       .hypothesis = {.ids = {},
                                      .log_prob = log_prob + log_prob_above,
                                      .score = log_prob / static_cast<double>(reference[i].pieces.size()) + rank_above,
                                      .ended = ended}};
  };
  text.outputs[0] = {output(0, 1, 1), output(1, -1, 1), output(2, -1, -1), output(3, 1, -1), output(4, -1, -1, false)};
  for (std::size_t i = 0; i < kSource.size(); ++i) {
    text.outputs[1].push_back(output(i, -1, -1));
    text.outputs[1].back().text = kReference[i];  // it is the reference: found it is
  }
  const SearchErrors errors = score_translations(run, 0, text, {}).search_errors;
  EXPECT_EQ(errors.compared, 4) << "the last was cut";
  EXPECT_NEAR(*errors.ranked, 50, 1e-9) << "outputs 2 and 3";
  EXPECT_NEAR(*errors.likelier, 50, 1e-9) << "outputs 1 and 2";
  // With alpha 0 the rank is the log-probability itself.
  for (Translation& one : text.outputs[0]) one.hypothesis.score = one.hypothesis.log_prob;
  const SearchErrors plain =
      score_translations(run, 0, text, {.search = SearchConfig{.length_penalty = 0}}).search_errors;
  EXPECT_EQ(plain.ranked, plain.likelier);
  EXPECT_EQ(score_translations(run, 1, text, {}).search_errors.ranked, 0);
  const SearchErrors of_samples = score_translations(run, 0, text, {.search = {}}).search_errors;
  EXPECT_EQ(of_samples.compared, 0);
  EXPECT_FALSE(of_samples.ranked || of_samples.likelier) << "their score is not a rank";
  const auto most = static_cast<std::int64_t>(reference[0].pieces.size());
  const auto within = std::ranges::count_if(reference.begin(), reference.begin() + 4,
                                            [&](const TextScore& one) { return std::ssize(one.pieces) <= most; });
  ASSERT_LT(within, 4);
  EXPECT_EQ(score_translations(run, 0, text, {.search = SearchConfig{.max_length = most}}).search_errors.compared,
            within);
}

// The model that is asked for probabilities is the one that searched.
TEST(CrossScoring, AttentionIsCutAsInSearch) {
  const TranslationRun run = small_run(families(0)[2].config, 6);
  const double threshold = 0.3;
  TranslatorConfig config{.search = {.beam = 2, .max_length = 30, .attention_threshold = threshold}, .workers = 1};
  TranslatedText text{.source = kSource, .reference = kReference, .outputs = {{}, {}}};
  for (const auto& translations : Translator(*run.model, run.tokenizers, config).translate(kSource)) {
    for (auto& output : text.outputs) output.push_back(translations[0]);
  }
  const CutWeights edit(threshold);
  const ModelScores cut = score_translations(run, 0, text, {.scoring = {.workers = {}, .edit = &edit}});
  const ModelScores whole = score_translations(run, 0, text, {});
  double difference = 0;
  int compared = 0;
  for (std::size_t i = 0; i < kSource.size(); ++i) {
    const Hypothesis& hypothesis = text.outputs[0][i].hypothesis;
    difference += std::abs(cut.reference[i].log_prob() - whole.reference[i].log_prob());
    if (!hypothesis.ended || run.tokenizers.tgt.encode(text.outputs[0][i].text) != hypothesis.ids) continue;
    EXPECT_NEAR(cut.outputs[1][i], hypothesis.log_prob, 1e-4);
    ++compared;
  }
  EXPECT_GT(compared, 0);
  EXPECT_GT(difference, 1e-3) << "the threshold cuts something";

  const auto entropy = [&](double at) { return attention_statistics(run, kSource, kReference, {}, at)[0].entropy; };
  EXPECT_LT(entropy(threshold), entropy(0)) << "less is left to look at";
  const auto maps = [&](double at) { return attention_maps(run, kSource, kReference, at)[1].weights; };
  EXPECT_GT(std::ranges::count(maps(threshold), 0), std::ranges::count(maps(0), 0));
}

TEST(CrossScoring, WhatHasNoProbabilityIsMissing) {
  const std::vector<std::optional<ModelScores>> models = {
      ModelScores{.outputs = {{-1, -std::numeric_limits<double>::infinity()}},
                  .reference = {{.pieces = {{.log_prob = -3}}}},
                  .search_errors = {}}};
  const CrossScores found = cross_scores(models, kSource, 1);
  EXPECT_FALSE(found.log_prob[0][0]);
  EXPECT_EQ(found.log_prob[0][1], -3);
}

TEST(KeptAttention, EndsWhereThePageIsFull) {
  const TranslationRun run = small_run(families(0)[0].config, 3);
  Comparison whole;
  std::string line;
  for (int i = 0; i < 60; ++i) line += "the dog number " + std::to_string(i * 37 % 101) + " sees a cat ";
  constexpr std::size_t kSentences = 400;
  for (std::size_t i = 0; i < kSentences; ++i) {
    const std::string source = line.substr(i, 100);
    whole.sentences.push_back(
        {.source = source,
         .reference = line.substr(i + 500, 100),
         .systems = {{.text = source, .scores = {}, .log_prob = {}, .own = {}, .reference = {}},
                     {.text = "no model", .scores = {}, .log_prob = {}, .own = {}, .reference = {}}}});
  }
  Comparison bounded = whole;
  add_attention(whole, {&run, nullptr}, /*threshold=*/0, /*all=*/true);
  add_attention(bounded, {&run, nullptr}, /*threshold=*/0, /*all=*/false);
  EXPECT_EQ(whole.attention_left_out, 0);
  const auto kept = static_cast<std::size_t>(std::ssize(bounded.sentences) - bounded.attention_left_out);
  ASSERT_GT(kept, 0U);
  ASSERT_LT(kept, kSentences);
  std::size_t bytes = 0, weights = 0;
  for (std::size_t i = 0; i < kSentences; ++i) {
    const SystemSentence& sentence = bounded.sentences[i].systems[0];
    EXPECT_TRUE(whole.sentences[i].systems[0].own && whole.sentences[i].systems[0].reference);
    EXPECT_EQ(sentence.own.has_value(), i < kept);
    EXPECT_EQ(sentence.reference.has_value(), i < kept);
    EXPECT_FALSE(whole.sentences[i].systems[1].own);
    if (i > kept) continue;
    const SystemSentence& all = whole.sentences[i].systems[0];
    bytes += attention_bytes(whole.sentences[i]);
    weights += all.own->weights.size() + all.reference->weights.size();
    EXPECT_EQ(fits_page(bytes) && weights <= kMostKeptWeights, i < kept) << "sentence " << i;
  }
}

TEST(Beams, AreTranslationsOfGrowingBeams) {
  const TranslationRun run = small_run(families(0)[2].config, 7);
  const metrics::Chrf chrf;
  const std::vector<std::string> sources = and_line(kSource, " "), references = and_line(kReference, "cat");
  const std::vector<BeamPoint> points =
      beam_points(run, sources, references, chrf,
                  {.search = {.length_penalty = 0, .min_length = 2, .max_length = 9}, .workers = 1});
  ASSERT_EQ(points.size(), kComparedBeams.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].beam, kComparedBeams[i]);
    const TranslatorConfig config{
        .search = {.beam = points[i].beam, .length_penalty = 0, .min_length = 2, .max_length = 9}, .workers = 2};
    const auto translations = Translator(*run.model, run.tokenizers, config).translate(sources);
    metrics::Tally tally(chrf);
    double sum = 0;
    for (std::size_t line = 0; line < sources.size(); ++line) {
      tally.add(translations[line][0].text, {references[line]});
      sum += translations[line][0].hypothesis.log_prob;
    }
    EXPECT_NEAR(points[i].score, tally.value(), 1e-9);
    EXPECT_NEAR(points[i].log_prob, sum / static_cast<double>(kSource.size()), 1e-4);
  }
  EXPECT_GT(points.back().log_prob, points.front().log_prob) << "a wide beam finds likelier translations";
}

}  // namespace
}  // namespace attend
