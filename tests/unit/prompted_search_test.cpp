// Search after a prompt, until a text stops it, reported step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>

#include "tests/support/hash_model.hpp"

namespace attend {
namespace {

TokenIds prompt_and(TokenIds first, const TokenIds& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// log p of ids, and of eos if they ended, after a prompt.
double log_prob_after(std::int64_t sentence, const TokenIds& prompt, const TokenIds& ids, bool ended) {
  return tried(sentence, prompt_and(prompt, ids), ended).log_prob - tried(sentence, prompt, false).log_prob;
}

TEST(PromptedSearch, APromptIsReadAndNoPartOfTheOutput) {
  RandomStream random(9);
  std::int64_t ended = 0;
  for (std::int64_t sentence = 0; sentence < 30; ++sentence) {
    const TokenIds prompt = random_phrase(random, kHashWords);
    const Wanted wanted{.longest = 5, .prompt = prompt};
    for (const SearchConfig& config :
         {SearchConfig{}, SearchConfig{.beam = 3, .nbest = 3}, SearchConfig{.min_length = 2, .sample = 4}}) {
      for (const Hypothesis& found : search_sentence(sentence, config, wanted)) {
        EXPECT_LE(found.ids.size(), 5);
        EXPECT_GE(std::ssize(found.ids), config.min_length);
        EXPECT_EQ(found.token_log_probs.size(), found.ids.size() + (found.ended ? 1 : 0));
        EXPECT_NEAR(found.log_prob, log_prob_after(sentence, prompt, found.ids, found.ended), 1e-4);
        ended += found.ended ? 1 : 0;
      }
    }
    const Wanted as_prefix{.longest = 5 + std::ssize(prompt), .prefix = prompt};
    EXPECT_EQ(search_sentence(sentence, {}, as_prefix)[0].ids,
              prompt_and(prompt, search_sentence(sentence, {}, wanted)[0].ids));
  }
  EXPECT_GT(ended, 0);
}

TEST(PromptedSearch, ABeamRanksWhatFollowsAPrompt) {
  const TokenIds prompt = {4, 6};
  for (std::int64_t sentence = 0; sentence < 20; ++sentence) {
    std::map<double, TokenIds, std::greater<>> ranked;
    for (const Tried& it : everything(sentence, 3)) {
      const double length = static_cast<double>(it.ids.size()) + (it.ended ? 1 : 0);
      ranked[log_prob_after(sentence, prompt, it.ids, it.ended) / length] = it.ids;
    }
    const auto found = search_sentence(sentence, {.beam = 200}, {.longest = 3, .prompt = prompt});
    EXPECT_EQ(found[0].ids, ranked.begin()->second) << sentence;
    EXPECT_NEAR(found[0].score, ranked.begin()->first, 1e-4);
  }
}

TEST(PromptedSearch, PromptsOfABatchMayDifferInLength) {
  const std::vector<TokenIds> prompts = {{4, 6, 1, 1, 5, 4}, {}, {5}, {1, 4, 6}};
  std::vector<Wanted> wanted;
  for (const TokenIds& prompt : prompts) {
    wanted.push_back({.longest = 4, .line = std::ssize(wanted), .prompt = prompt});
  }
  for (const SearchConfig& config : {SearchConfig{.beam = 3, .nbest = 2}, SearchConfig{.sample = 3}}) {
    const auto together = search_all(HashModel({10, 11, 12, 13}), config, wanted);
    for (std::int64_t i = 0; i < 4; ++i) {
      const auto alone = search_sentence(10 + i, config, wanted[i]);
      ASSERT_EQ(together[i].size(), alone.size());
      for (std::size_t k = 0; k < alone.size(); ++k) {
        EXPECT_EQ(together[i][k].ids, alone[k].ids);
        EXPECT_EQ(together[i][k].score, alone[k].score);
      }
    }
  }
}

class CountsRows : public HashModel {
 public:
  using HashModel::HashModel;
  torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const override {
    rows.push_back(previous_R.size(0));
    return HashModel::step(state, previous_R, pass);
  }
  mutable std::vector<std::int64_t> rows;
};

TEST(PromptedSearch, APromptIsReadOnceForAllOfItsSamples) {
  const CountsRows model({10, 11});
  search_all(model, {.sample = 8}, {{.longest = 1, .prompt = {4, 5, 6}}, {.longest = 1, .prompt = {1}}});
  EXPECT_EQ(model.rows, (std::vector<std::int64_t>{2, 9, 1, 8}));
}

TEST(PromptedSearch, AnOutputEndsWhereItStops) {
  const auto stops = [](std::span<const std::int32_t> ids) { return !ids.empty() && ids.back() == 5; };
  std::int64_t stopped = 0;
  for (std::int64_t sentence = 0; sentence < 30; ++sentence) {
    const Wanted free{.longest = 8, .line = sentence, .prompt = {4}};
    Wanted wanted = free;
    wanted.stops = stops;
    for (const SearchConfig& config : {SearchConfig{}, SearchConfig{.beam = 4, .nbest = 2},
                                       SearchConfig{.sample = 4, .temperature = 2, .top_p = 0.9}}) {
      const auto found = search_sentence(sentence, config, wanted), unstopped = search_sentence(sentence, config, free);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const TokenIds& ids = found[i].ids;
        const auto at = std::ranges::find(ids, 5);
        EXPECT_LE(ids.end() - at, 1);
        EXPECT_NEAR(found[i].log_prob, log_prob_after(sentence, {4}, ids, found[i].ended), 1e-4);
        if (at == ids.end()) continue;
        ++stopped;
        EXPECT_TRUE(found[i].ended || ids.size() == 8);
        if (config.beam == 1) {
          EXPECT_TRUE(std::equal(ids.begin(), ids.end(), unstopped[i].ids.begin())) << "up to there the same";
        } else if (found[i].ended) {
          EXPECT_NEAR(found[i].score, log_prob_after(sentence, {4}, ids, false) / static_cast<double>(ids.size() + 1),
                      1e-4)
              << "the end costs nothing";
        }
      }
    }
  }
  EXPECT_GT(stopped, 50);
}

TEST(PromptedSearch, AnEndTokenThatIsReadFirstMayEndTheOutput) {
  const TargetIds ids{.bos = 3, .eos = 3, .pad = 0};
  for (const SearchConfig& config : {SearchConfig{.beam = 4}, SearchConfig{.sample = 20}}) {
    const HashModel model({10, 11, 12});
    const std::vector<Wanted> wanted(3, Wanted{.longest = 20});
    Pass pass = Pass::inference();
    for (const auto& found : search({.model = model, .wanted = wanted, .ids = ids, .config = config}, pass)) {
      EXPECT_TRUE(std::ranges::any_of(found, &Hypothesis::ended));
      for (const Hypothesis& one : found) EXPECT_EQ(std::ranges::find(one.ids, 3), one.ids.end());
    }
  }
}

TEST(PromptedSearch, EveryStepIsReported) {
  const HashModel model({10});
  const std::vector<Wanted> wanted = {{.longest = 6, .prompt = {4, 5}}};
  const SearchConfig config{.min_length = 6};
  std::vector<TokenIds> reported;
  Pass pass = Pass::inference();
  const auto found =
      search({.model = model,
              .wanted = wanted,
              .ids = kHashIds,
              .config = config,
              .on_step = [&](std::span<const std::int32_t> ids) { reported.emplace_back(ids.begin(), ids.end()); }},
             pass);
  const TokenIds& all = found[0][0].ids;
  ASSERT_EQ(all.size(), 6);
  ASSERT_EQ(reported.size(), 5) << "after the last step it is done";
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(reported[i], TokenIds(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i) + 1));
  }
}

}  // namespace
}  // namespace attend
