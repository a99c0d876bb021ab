// The processors of search: against Transformers' (fixtures/search.json, tests/parity/make_fixtures_search.py) and by
// hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "eval/search/processors.hpp"

namespace attend {
namespace {

constexpr float kExcludedScore = -std::numeric_limits<float>::infinity();
constexpr TargetIds kFixtureIds{.bos = 1, .eos = 2, .pad = 0};  // of the fixture, whose hypotheses may not end

std::vector<float> processed(const SearchConfig& config, const TargetIds& ids, std::vector<float> scores,
                             std::vector<std::int32_t> hypothesis = {}) {
  const Live live{.ids = std::move(hypothesis)};
  for (const auto& processor : make_processors(config, ids, {})) processor({}, live, scores);
  return scores;
}

std::vector<float> logs_of(std::vector<float> probabilities) {
  for (float& value : probabilities) value = std::log(value);
  return probabilities;
}

// The ids that are left of these probabilities.
std::vector<int> kept_ids(SearchConfig config, const std::vector<float>& probabilities) {
  config.sample = 1;
  const auto after = processed(config, {}, logs_of(probabilities));
  std::vector<int> ids;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] != kExcludedScore) ids.push_back(static_cast<int>(i));
  }
  return ids;
}

TEST(SearchProcessors, AreThoseOfTransformers) {
  const nlohmann::json fixture = read_json(ATTEND_SOURCE_DIR "/tests/parity/fixtures/search.json");
  for (const auto& entry : fixture.at("cases")) {
    SearchConfig config{.sample = 1};
    config.min_length = 100;
    BoundOptions options = bind(config);
    OptionOrigins origins;
    for (const auto& [name, value] : entry.at("options").items()) apply_words(options, name, {value.dump()}, origins);
    const auto scores = entry.at("scores").get<std::vector<float>>();
    const auto after = processed(config, kFixtureIds, scores, entry.at("ids").get<std::vector<std::int32_t>>());
    std::vector<float> expected(scores.size(), kExcludedScore);
    for (const auto& [id, score] : entry.at("kept").get<std::vector<std::pair<std::size_t, float>>>()) {
      expected[id] = score;
    }
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (expected[i] == kExcludedScore || after[i] == kExcludedScore) {
        EXPECT_EQ(after[i], expected[i]) << entry.at("options") << ", token " << i;
      } else {
        EXPECT_NEAR(after[i], expected[i], 1e-5) << entry.at("options") << ", token " << i;  // fp32 and 6 digits
      }
    }
  }
}

TEST(SearchProcessors, TruncationsKeepWhatTheirDefinitionsSay) {
  const std::vector<float> probabilities = {0.1F, 0.4F, 0.05F, 0.25F, 0.2F};
  EXPECT_EQ(kept_ids({}, probabilities), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(kept_ids({.top_k = 2}, probabilities), (std::vector{1, 3}));
  EXPECT_EQ(kept_ids({.top_k = 9}, probabilities), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(kept_ids({.top_p = 0.3}, probabilities), (std::vector{1}));
  EXPECT_EQ(kept_ids({.top_p = 0.6}, probabilities), (std::vector{1, 3}));
  EXPECT_EQ(kept_ids({.top_p = 0.7}, probabilities), (std::vector{1, 3, 4}));
  EXPECT_EQ(kept_ids({.min_p = 0.45}, probabilities), (std::vector{1, 3, 4}));
  EXPECT_EQ(kept_ids({.epsilon = 0.15}, probabilities), (std::vector{1, 3, 4}));
  EXPECT_EQ(kept_ids({.epsilon = 0.9}, probabilities), (std::vector{1}));
  // Each sees what the one before it left, at a sum of 1: 0.4 and 0.25 are 0.615 and 0.385.
  EXPECT_EQ(kept_ids({.top_k = 2, .top_p = 0.6}, probabilities), (std::vector{1}));
  EXPECT_EQ(kept_ids({.top_k = 2, .epsilon = 0.35}, probabilities), (std::vector{1, 3}));
  EXPECT_EQ(kept_ids({.top_k = 2}, {0.2F, 0.2F, 0.4F, 0.2F}), (std::vector{0, 1, 2, 3})) << "equal scores are kept";
}

// More tokens than the beginning that is sorted first, in several sizes.
TEST(SearchProcessors, TopPOfFlatDistributions) {
  for (const int size : {63, 64, 65, 1000, 5000}) {
    std::vector<float> probabilities;
    for (int i = 0; i < size; ++i) probabilities.push_back(static_cast<float>(2 * size + (i * 7919) % size));
    std::vector<float> sorted = probabilities;
    std::ranges::sort(sorted, std::greater());
    double total = 0, mass = 0;
    for (const float value : probabilities) total += value;
    std::size_t count = 0;
    while (mass < 0.9 * total) mass += sorted[count++];
    EXPECT_EQ(kept_ids({.top_p = 0.9}, probabilities).size(), count) << size;
  }
}

TEST(SearchProcessors, TemperatureDividesLogProbabilities) {
  const auto after = processed({.sample = 1, .temperature = 2}, {}, {-1, -3, kExcludedScore});
  EXPECT_EQ(after, (std::vector<float>{-0.5, -1.5, kExcludedScore}));
}

TEST(SearchProcessors, ASampleHoldsNeitherPadNorBosAndIsLongEnough) {
  const TargetIds ids{.bos = 2, .eos = 3, .pad = 0};
  const SearchConfig config{.min_length = 2, .sample = 1};
  const std::vector<float> scores(5, -1.5F);
  EXPECT_EQ(processed(config, ids, scores, {4}),
            (std::vector<float>{kExcludedScore, -1.5, kExcludedScore, kExcludedScore, -1.5}));
  EXPECT_EQ(processed(config, ids, scores, {4, 4}),
            (std::vector<float>{kExcludedScore, -1.5, kExcludedScore, -1.5, -1.5}));
}

TEST(SearchProcessors, ASampleHoldsNoMarkOfAnEncoder) {
  const TargetIds ids{.bos = 2, .eos = 3, .pad = 0, .marks = {4, -1, 1}};
  EXPECT_EQ(processed({.sample = 1}, ids, std::vector<float>(6, -1.5F), {5}),
            (std::vector<float>{kExcludedScore, kExcludedScore, kExcludedScore, -1.5, kExcludedScore, -1.5}));
  const TargetIds ends_with_sep{.bos = 2, .eos = 3, .pad = 0, .marks = {2, 3, 4}};
  EXPECT_TRUE(ends_with_sep.may_follow(3, 1, 0)) << "a mark that is the end token";
}

TEST(SearchProcessors, APenaltyCountsATokenOnce) {
  const auto after = processed({.repetition_penalty = 2}, {}, {-1, -2, -3, 4}, {1, 3, 1, 1});
  EXPECT_EQ(after, (std::vector<float>{-1, -4, -3, 2}));
}

TEST(SearchProcessors, AnNgramIsNotRepeated) {
  const std::vector<float> scores(4, -1);
  const auto banned = [&](std::int64_t n, const std::vector<std::int32_t>& ids) {
    const auto after = processed({.no_repeat_ngram = n}, {}, scores, ids);
    std::vector<int> result;
    for (int i = 0; i < 4; ++i) {
      if (after[i] == kExcludedScore) result.push_back(i);
    }
    return result;
  };
  EXPECT_EQ(banned(1, {}), (std::vector<int>{}));
  EXPECT_EQ(banned(1, {2, 0}), (std::vector{0, 2}));
  EXPECT_EQ(banned(2, {1, 2, 1}), (std::vector{2}));
  EXPECT_EQ(banned(2, {1, 2, 1, 3, 1}), (std::vector{2, 3}));
  EXPECT_EQ(banned(2, {1, 1}), (std::vector{1}));
  EXPECT_EQ(banned(3, {1, 2, 3, 1, 2}), (std::vector{3}));
  EXPECT_EQ(banned(3, {1, 2, 3, 2}), (std::vector<int>{}));
  EXPECT_EQ(banned(4, {1, 2, 3}), (std::vector<int>{}));
}

TEST(SearchProcessors, WhatAPromptContainsIsRepeatedToo) {
  const OpenSentence sentence{.wanted = {.prompt = {1, 2}}};
  const Live live{.ids = {3, 1}};
  const auto after = [&](const SearchConfig& config) {
    std::vector<float> scores(5, -1);
    for (const auto& processor : make_processors(config, {}, {})) processor(sentence, live, scores);
    return scores;
  };
  EXPECT_EQ(after({.repetition_penalty = 2}), (std::vector<float>{-1, -2, -2, -2, -1}));
  EXPECT_EQ(after({.no_repeat_ngram = 2}), (std::vector<float>{-1, -1, kExcludedScore, -1, -1}));
  EXPECT_EQ(after({.no_repeat_ngram = 3}), (std::vector<float>(5, -1)));
}

TEST(SearchProcessors, OnlyTheEndFollowsWhatStops) {
  const TargetIds ids{.bos = 3, .eos = 3, .pad = 0};
  std::vector<Wanted> wanted(2);
  wanted[0].stops = [](std::span<const std::int32_t> tokens) { return tokens.size() == 2; };
  const auto after = [&](const Wanted& one, std::vector<std::int32_t> tokens) {
    std::vector<float> scores = {-1, -2, -3, -4, -1};
    const Live live{.ids = std::move(tokens)};
    for (const auto& processor : make_processors({.sample = 1, .top_k = 4}, ids, wanted)) {
      processor({.wanted = one}, live, scores);
    }
    return scores;
  };
  EXPECT_EQ(after(wanted[0], {4, 4}),
            (std::vector<float>{kExcludedScore, kExcludedScore, kExcludedScore, 0, kExcludedScore}));
  const std::vector<float> free = {kExcludedScore, -2, -3, -4, -1};
  EXPECT_EQ(after(wanted[0], {4}), free);
  EXPECT_EQ(after(wanted[1], {4, 4}), free);
}

TEST(SearchProcessors, NothingFiniteStaysAsItIs) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {nan, kExcludedScore}) {
    const auto after = processed({.sample = 1, .top_k = 1, .top_p = 0.5, .min_p = 0.5, .epsilon = 0.5}, {},
                                 std::vector<float>(7, value));
    for (const float score : after) EXPECT_FALSE(std::isfinite(score));
  }
}

}  // namespace
}  // namespace attend
