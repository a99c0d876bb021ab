// Search that is asked for more: prefixes, constraints, forbidden phrases, groups, penalties and patience.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.hpp"
#include "eval/line_requests.hpp"
#include "eval/search/hypothesis.hpp"
#include "tests/support/hash_model.hpp"

namespace attend {
namespace {

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
    torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& /*pass*/) const override {
      Pass unobserved = Pass::inference();
      return HashModel::step(state, previous_R, unobserved);
    }
  };
  EXPECT_THROW(search_all(WithoutAttention({1}), {.coverage_penalty = 0.2}, {{.longest = 4}}), UserError);
  EXPECT_TRUE(SourceCoverage().wants_attention(AttentionPlace::cross, 0));
  EXPECT_FALSE(SourceCoverage().wants_attention(AttentionPlace::decoder, 0));
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

}  // namespace
}  // namespace attend
