// Search.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "eval/line_requests.hpp"
#include "eval/search/hypothesis.hpp"
#include "eval/search/processors.hpp"
#include "tests/support/hash_model.hpp"

namespace attend {
namespace {

// Search that is asked for more: prefixes, constraints, forbidden phrases, groups, penalties and patience.

TEST(GuidedSearch, ConstraintsAreAlwaysMet) {
  RandomStream random(7);
  std::int64_t unasked = 0;
  for (std::int64_t sentence = 0; sentence < 200; ++sentence) {
    Wanted wanted;
    const std::uint64_t count = 1 + random() % 3;
    while (wanted.constraints.size() < count) wanted.constraints.push_back(random_phrase(random, kHashWords));
    if (random() % 2 == 0) wanted.prefix = {4, 6};
    std::int64_t tokens = std::ssize(wanted.prefix);
    for (const PhraseIds& phrase : wanted.constraints) tokens += std::ssize(phrase);
    wanted.longest = tokens + static_cast<std::int64_t>(random() % 5);
    const SearchConfig config{.beam = 2 + static_cast<std::int64_t>(random() % 5), .nbest = 2};
    for (const Hypothesis& hypothesis : search_sentence(sentence, config, wanted)) {
      EXPECT_LE(std::ssize(hypothesis.ids), wanted.longest);
      EXPECT_TRUE(std::equal(wanted.prefix.begin(), wanted.prefix.end(), hypothesis.ids.begin()));
      for (const PhraseIds& phrase : wanted.constraints) EXPECT_TRUE(has_phrase(hypothesis.ids, phrase)) << sentence;
      EXPECT_NEAR(hypothesis.log_prob, tried(sentence, hypothesis.ids, hypothesis.ended).log_prob, 1e-4);
    }
    const auto plain = search_sentence(sentence, config, {.longest = wanted.longest});
    for (const PhraseIds& phrase : wanted.constraints) unasked += has_phrase(plain[0].ids, phrase) ? 1 : 0;
  }
  EXPECT_LT(unasked, 250);  // of about 400: they do not come by themselves
}

TEST(GuidedSearch, AWideBeamFindsTheBestThatMeetsTheConstraints) {
  RandomStream random(3);
  for (std::int64_t sentence = 0; sentence < 25; ++sentence) {
    Wanted wanted{.longest = 4, .constraints = {random_phrase(random, {1, 4})}};  // phrases that cannot overlap
    if (sentence % 2 == 0) wanted.constraints.push_back(random_phrase(random, {5, 6}));
    const auto meets = [&](const TokenIds& ids) {
      return std::ranges::all_of(wanted.constraints, [&](const PhraseIds& phrase) { return has_phrase(ids, phrase); });
    };
    std::size_t tokens = 0;
    for (const PhraseIds& phrase : wanted.constraints) tokens += phrase.size();
    if (tokens <= 4) expect_the_best(sentence, {}, wanted, meets);
  }
}

TEST(GuidedSearch, APhraseThatIsGivenTwiceOccursTwice) {
  for (std::int64_t sentence = 0; sentence < 10; ++sentence) {
    for (const PhraseIds& phrase : {PhraseIds{4}, PhraseIds{5, 6}}) {
      expect_the_best(sentence, {}, {.longest = 4, .constraints = {phrase, phrase}}, [&](const TokenIds& ids) {
        const auto first = std::ranges::search(ids, phrase).begin();
        return first != ids.end() && has_phrase({first + 1, ids.end()}, phrase);
      });
    }
    const Wanted begun{.longest = 3, .prefix = {4}, .constraints = {{4}, {4}}};
    EXPECT_GE(std::ranges::count(search_sentence(sentence, {.beam = 2}, begun)[0].ids, 4), 2);
  }
}

TEST(GuidedSearch, ConstraintsOfOneSentenceLeaveTheOthersAsTheyAre) {
  const SearchConfig config{.beam = 3, .nbest = 3};
  const Wanted free{.longest = 8}, asked{.longest = 8, .prefix = {5}, .constraints = {{4, 4, 6}, {1}}};
  const auto together = search_all(HashModel({10, 11, 12}), config, {free, asked, free});
  for (const std::int64_t i : {0, 1, 2}) {
    const auto alone = search_sentence(10 + i, config, i == 1 ? asked : free);
    ASSERT_EQ(together[i].size(), alone.size());
    for (std::size_t n = 0; n < alone.size(); ++n) EXPECT_EQ(together[i][n].ids, alone[n].ids);
  }
}

TEST(GuidedSearch, APrefixIsFollowedByItsBestContinuation) {
  for (std::int64_t sentence = 0; sentence < 10; ++sentence) {
    for (const TokenIds& prefix : {TokenIds{6}, TokenIds{5, 5, 1}, TokenIds{1, 4, 6, 5}}) {
      expect_the_best(sentence, {}, {.longest = 4, .prefix = prefix}, [&](const TokenIds& ids) {
        return ids.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), ids.begin());
      });
    }
  }
}

TEST(GuidedSearch, ForbiddenPhrasesDoNotOccur) {
  const ForbiddenPhrases forbidden{.spaced = {{4}, {5, 6}, {1, 1, 5}}, .unspaced = {}, .is_of_words = {}};
  for (std::int64_t sentence = 0; sentence < 10; ++sentence) {
    expect_the_best(sentence, {}, {.longest = 4, .forbidden = &forbidden}, [&](const TokenIds& ids) {
      return std::ranges::none_of(forbidden.spaced, [&](const PhraseIds& phrase) { return has_phrase(ids, phrase); });
    });
    // What must occur precedes what must not.
    const Wanted asked{.longest = 6, .prefix = {4}, .constraints = {{5, 6}}, .forbidden = &forbidden};
    const TokenIds best = search_sentence(sentence, {.beam = 4}, asked)[0].ids;
    EXPECT_EQ(best[0], 4);
    EXPECT_TRUE(has_phrase(best, {5, 6}));
  }
}

TEST(GuidedSearch, AWordWithoutASpaceIsForbiddenUnlessAWordPrecedes) {
  // 1: a word; 4: a bracket. As "(dog" and "bulldog".
  std::vector<bool> is_of_words(kHashTokens, false);
  is_of_words[1] = true;
  const ForbiddenPhrases forbidden{.spaced = {}, .unspaced = {{5, 6}}, .is_of_words = is_of_words};
  for (std::int64_t sentence = 0; sentence < 10; ++sentence) {
    expect_the_best(sentence, {}, {.longest = 4, .forbidden = &forbidden}, [](const TokenIds& ids) {
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        if (ids[i] == 5 && ids[i + 1] == 6 && (i == 0 || ids[i - 1] != 1)) return false;
      }
      return true;
    });
  }
}

// The greedy search of groups of one hypothesis each.
std::vector<TokenIds> greedy_groups(std::int64_t sentence, std::int64_t groups, double diversity,
                                    std::int64_t longest) {
  std::vector<TokenIds> outputs(groups);
  std::vector<bool> done(groups);
  for (std::int64_t t = 0; t < longest; ++t) {
    std::map<std::int64_t, int> uses;
    for (std::int64_t g = 0; g < groups; ++g) {
      if (done[g]) continue;
      std::vector<std::int64_t> read = {sentence, kHashIds.bos};
      read.insert(read.end(), outputs[g].begin(), outputs[g].end());
      std::vector<float> scores = HashModel::logits(read);
      scores[kHashIds.bos] = scores[kHashIds.pad] = -1e9F;
      for (const auto& [id, count] : uses) scores[id] -= static_cast<float>(diversity * count);
      const auto id = std::ranges::max_element(scores) - scores.begin();
      if (id == kHashIds.eos) {
        done[g] = true;
      } else {
        outputs[g].push_back(static_cast<std::int32_t>(id));
        ++uses[id];
      }
    }
  }
  std::ranges::sort(outputs);
  return outputs;
}

TEST(GuidedSearch, GroupsAvoidTheTokensOfEarlierOnes) {
  std::int64_t differing = 0;
  for (std::int64_t sentence = 0; sentence < 20; ++sentence) {
    const Wanted wanted{.longest = 6};
    std::vector<TokenIds> found;
    const SearchConfig config{.beam = 3, .nbest = 3, .diverse_groups = 3, .diversity = 0.7};
    for (const Hypothesis& hypothesis : search_sentence(sentence, config, wanted)) found.push_back(hypothesis.ids);
    std::ranges::sort(found);
    EXPECT_EQ(found, greedy_groups(sentence, 3, 0.7, 6));
    std::set<std::int32_t> first;
    const SearchConfig far{.beam = 4, .nbest = 4, .diverse_groups = 4, .diversity = 50, .min_length = 1};
    for (const Hypothesis& hypothesis : search_sentence(sentence, far, wanted)) first.insert(hypothesis.ids[0]);
    EXPECT_EQ(first.size(), 4);
    differing += found[0] != found[2];
  }
  EXPECT_GT(differing, 10);
}

TEST(GuidedSearch, GroupsDoNotPayForAPrefix) {
  for (std::int64_t sentence = 0; sentence < 10; ++sentence) {
    const Wanted wanted{.longest = 3, .prefix = {5, 1, 6}};  // nothing may follow, so that no token is penalised
    const SearchConfig config{.beam = 3, .nbest = 3, .length_penalty = 0, .diverse_groups = 3, .diversity = 7};
    for (const Hypothesis& hypothesis : search_sentence(sentence, config, wanted)) {
      EXPECT_EQ(hypothesis.ids, wanted.prefix);
      EXPECT_NEAR(hypothesis.score, hypothesis.log_prob, 1e-5);
    }
  }
}

TEST(GuidedSearch, GroupsWithoutDiversityAreBeamsOfTheirSize) {
  for (std::int64_t sentence = 0; sentence < 20; ++sentence) {
    const Wanted wanted{.longest = 7};
    const auto plain = search_sentence(sentence, {.beam = 3, .nbest = 3}, wanted);
    const auto one = search_sentence(sentence, {.beam = 3, .nbest = 3, .diverse_groups = 1}, wanted);
    const auto two = search_sentence(sentence, {.beam = 6, .nbest = 6, .diverse_groups = 2, .diversity = 0}, wanted);
    ASSERT_EQ(one.size(), plain.size());
    ASSERT_EQ(two.size(), 2 * plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_EQ(one[i].ids, plain[i].ids);
      EXPECT_EQ(one[i].score, plain[i].score);
      EXPECT_EQ(two[2 * i].ids, plain[i].ids);
      EXPECT_EQ(two[2 * i + 1].ids, plain[i].ids);
      EXPECT_EQ(two[2 * i + 1].score, plain[i].score);
    }
  }
}

TEST(GuidedSearch, PenaltiesRankAsByHand) {
  std::int64_t changed = 0;
  for (std::int64_t sentence = 0; sentence < 10; ++sentence) {
    const Wanted wanted{.longest = 4, .src_length = kSourceLength};
    const auto any = [](const TokenIds&) { return true; };
    for (const double alpha : {0.0, 0.6, 1.5}) {
      for (const auto kind : {LengthPenaltyKind::power, LengthPenaltyKind::gnmt}) {
        for (const double coverage : {0.0, 0.4, 3.0}) {
          expect_the_best(sentence,
                          {.length_penalty = alpha, .length_penalty_kind = kind, .coverage_penalty = coverage}, wanted,
                          any);
        }
      }
    }
    const auto best = [&](const SearchConfig& config) { return search_sentence(sentence, config, wanted)[0].ids; };
    changed += best({.beam = 9}) != best({.beam = 9, .coverage_penalty = 3});
    changed += best({.beam = 9}) != best({.beam = 9, .length_penalty_kind = LengthPenaltyKind::gnmt});
  }
  EXPECT_GT(changed, 0);
}

TEST(GuidedSearch, CoverageNeedsAttention) {
  class WithoutAttention : public HashModel {
   public:
    using HashModel::HashModel;
    torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const override {
      EXPECT_TRUE(pass.observes_attention(AttentionPlace::cross, 0));
      EXPECT_FALSE(pass.observes_attention(AttentionPlace::decoder, 0));
      Pass unobserved = Pass::inference();
      return HashModel::step(state, previous_R, unobserved);
    }
  };
  EXPECT_THROW(search_all(WithoutAttention({1}), {.coverage_penalty = 0.2}, {{.longest = 4}}), UserError);
}

TEST(GuidedSearch, PatienceWaitsForMoreHypotheses) {
  std::int64_t more = 0;
  for (std::int64_t sentence = 0; sentence < 20; ++sentence) {
    const auto steps = [&](double patience) {
      const HashModel model({sentence});
      SearchConfig config{.beam = 4};
      config.patience = patience;
      search_all(model, config, {{.longest = 30}});
      return model.num_steps;
    };
    EXPECT_LE(steps(0.5), steps(1));
    EXPECT_LE(steps(1), steps(2));
    more += steps(2) - steps(1);
    const auto plain = search_sentence(sentence, {.beam = 4, .nbest = 4}, {.longest = 30});
    const auto patient = search_sentence(sentence, {.beam = 4, .nbest = 4, .patience = 2}, {.longest = 30});
    EXPECT_GE(patient[0].score, plain[0].score);
    EXPECT_GE(patient[3].score, plain[3].score);
  }
  EXPECT_GT(more, 0);
  EXPECT_EQ((SearchConfig{.patience = 1.5}.enough(3)), 5);
  EXPECT_EQ((SearchConfig{.patience = 0.1}.enough(3)), 1);
}

// Search after a prompt, until a text stops it, reported step by step.

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

// The processors of search: against Transformers' (fixtures/search.json, tests/parity/make_fixtures_search.py) and by
// hand.

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
