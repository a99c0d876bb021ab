// Search that is asked for more: prompts, prefixes, constraints, forbidden phrases, stops, groups, penalties and
// patience, over a model whose distribution and attention are a hash of sentence and prefix, so that small cases can be
// compared with trying every sequence.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "core/random.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "eval/line_requests.hpp"
#include "eval/search/search.hpp"
#include "eval/search/source_coverage.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

constexpr std::int64_t kHashTokens = 7, kSourceLength = 3, kPaddedLength = 5;
constexpr TargetIds kHashIds{.bos = 2, .eos = 3, .pad = 0};
const std::vector<std::int32_t> kHashWords = {1, 4, 5, 6};

using TokenIds = std::vector<std::int32_t>;

struct HashState : DecoderState {
  std::vector<std::vector<std::int64_t>> read;  // by each row: the sentence's number and the tokens
  void select(std::span<const std::int64_t> rows) override {
    std::vector<std::vector<std::int64_t>> chosen;
    for (const auto row : rows) chosen.push_back(read.at(row));
    read = chosen;
  }
};

class HashModel : public StepModel {
 public:
  explicit HashModel(std::vector<std::int64_t> sentences) : sentences_(std::move(sentences)) {}

  static RandomStream random_of(const std::vector<std::int64_t>& read, std::uint64_t key) {
    for (const auto id : read) key = combine_keys(key, id);
    return RandomStream(key);
  }
  static std::vector<float> logits(const std::vector<std::int64_t>& read) {
    RandomStream random = random_of(read, 1);
    std::vector<float> result;
    for (std::int64_t i = 0; i < kHashTokens; ++i) result.push_back(static_cast<float>(4 * random.uniform()));
    return result;
  }
  // Of two heads, over the source and padding.
  static std::vector<float> attention(const std::vector<std::int64_t>& read, std::uint64_t key) {
    RandomStream random = random_of(read, key);
    std::vector<float> weights(2 * kPaddedLength, 0);
    for (std::int64_t head = 0; head < 2; ++head) {
      float* const row = weights.data() + head * kPaddedLength;
      for (std::int64_t s = 0; s < kSourceLength; ++s) row[s] = 0.01F + static_cast<float>(random.uniform());
      const float sum = std::accumulate(row, row + kSourceLength, 0.0F);
      for (std::int64_t s = 0; s < kSourceLength; ++s) row[s] /= sum;
    }
    return weights;
  }

  std::unique_ptr<DecoderState> start() const override {
    auto state = std::make_unique<HashState>();
    for (const auto sentence : sentences_) state->read.push_back({sentence});
    return state;
  }
  torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const override {
    ++num_steps;
    auto& read = static_cast<HashState&>(state).read;
    std::vector<torch::Tensor> rows, first, last;
    for (std::size_t r = 0; r < read.size(); ++r) {
      read[r].push_back(previous_R[static_cast<std::int64_t>(r)].item<std::int64_t>());
      rows.push_back(torch::tensor(logits(read[r])));
      if (pass.observer() == nullptr) continue;
      first.push_back(torch::tensor(attention(read[r], 2)).view({2, 1, kPaddedLength}));
      last.push_back(torch::tensor(attention(read[r], 3)).view({2, 1, kPaddedLength}));
    }
    if (pass.observer() != nullptr) {
      pass.observer()->on_attention(AttentionPlace::cross, 0, torch::stack(first));
      pass.observer()->on_attention(AttentionPlace::cross, 1, torch::stack(last));
      pass.observer()->on_attention(AttentionPlace::decoder, 1, torch::zeros({1, 1, 1, 1}));
    }
    return torch::stack(rows);
  }
  torch::Device device() const override { return torch::kCPU; }

  mutable std::int64_t num_steps = 0;

 private:
  std::vector<std::int64_t> sentences_;
};

std::vector<std::vector<Hypothesis>> search_all(const HashModel& model, const SearchConfig& config,
                                                const std::vector<Wanted>& wanted) {
  Pass pass = Pass::inference();
  return search({.model = model, .wanted = wanted, .ids = kHashIds, .config = config}, pass);
}

std::vector<Hypothesis> search_sentence(std::int64_t sentence, const SearchConfig& config, const Wanted& wanted) {
  return search_all(HashModel({sentence}), config, {wanted})[0];
}

bool has_phrase(const TokenIds& ids, const PhraseIds& phrase) { return !std::ranges::search(ids, phrase).empty(); }

// log p of ids, and of eos if they ended, with the coverage penalty.
struct Tried {
  TokenIds ids;
  bool ended = false;
  double log_prob = 0;
  double coverage = 0;
};

Tried tried(std::int64_t sentence, const TokenIds& ids, bool ended) {
  Tried result{.ids = ids, .ended = ended};
  std::vector<std::int64_t> read = {sentence, kHashIds.bos};
  std::vector<double> sums(kSourceLength, 0);
  std::vector<std::int64_t> tokens(ids.begin(), ids.end());
  if (ended) tokens.push_back(kHashIds.eos);
  for (const auto token : tokens) {
    const std::vector<float> logits = HashModel::logits(read), weights = HashModel::attention(read, 3);
    double total = 0;
    for (const float logit : logits) total += std::exp(logit);
    result.log_prob += logits[token] - std::log(total);
    for (std::int64_t s = 0; s < kSourceLength; ++s) sums[s] += (weights[s] + weights[kPaddedLength + s]) / 2;
    read.push_back(token);
  }
  for (const double sum : sums) result.coverage += std::log(std::min(sum, 1.0));
  return result;
}

double score_by_hand(const Tried& it, const SearchConfig& config) {
  const double length = static_cast<double>(it.ids.size()) + (it.ended ? 1 : 0);
  const bool gnmt = config.length_penalty_kind == LengthPenaltyKind::gnmt;
  const double norm = std::pow(gnmt ? (5 + length) / (5 + 1) : length, config.length_penalty);
  return it.log_prob / norm + config.coverage_penalty * it.coverage;
}

// Every output of at most `longest` tokens.
std::vector<Tried> everything(std::int64_t sentence, std::int64_t longest) {
  std::vector<Tried> all;
  std::vector<TokenIds> level = {{}};
  for (std::int64_t length = 0; length <= longest; ++length) {
    std::vector<TokenIds> longer;
    for (const TokenIds& ids : level) {
      all.push_back(tried(sentence, ids, length < longest));
      for (const std::int32_t id : kHashWords) {
        longer.push_back(ids);
        longer.back().push_back(id);
      }
    }
    level = longer;
  }
  return all;
}

// Compares the best results of a wide beam with those of trying everything that `may_be`.
template <class MayBe>
void expect_the_best(std::int64_t sentence, SearchConfig config, const Wanted& wanted, const MayBe& may_be) {
  static std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Tried>> known;
  std::vector<Tried>& all = known[{sentence, wanted.longest}];
  if (all.empty()) all = everything(sentence, wanted.longest);
  config.beam = 1000;
  config.nbest = 3;
  std::map<double, TokenIds, std::greater<>> ranked;
  for (const Tried& it : all) {
    if (may_be(it.ids)) ranked[score_by_hand(it, config)] = it.ids;
  }
  const auto found = search_sentence(sentence, config, wanted);
  ASSERT_EQ(found.size(), std::min<std::size_t>(3, ranked.size()));
  auto expected = ranked.begin();
  for (const Hypothesis& hypothesis : found) {
    EXPECT_EQ(hypothesis.ids, expected->second) << "sentence " << sentence;
    EXPECT_NEAR(hypothesis.score, expected->first, 1e-4);  // sums of fp32 log p and weights
    ++expected;
  }
}

PhraseIds random_phrase(RandomStream& random, const std::vector<std::int32_t>& words) {
  PhraseIds phrase(1 + random() % 3);
  for (auto& id : phrase) id = words[random() % words.size()];
  return phrase;
}

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

TEST(GuidedSearch, RefusesContradictoryOptions) {
  EXPECT_THROW((SearchConfig{.beam = 4, .diverse_groups = 3}.validate({})), UserError);
  EXPECT_THROW((SearchConfig{.beam = 4, .nbest = 3, .patience = 0.5}.validate({})), UserError);
  EXPECT_NO_THROW((SearchConfig{.beam = 6, .nbest = 6, .diverse_groups = 3}.validate({})));
  const LineRequestConfig constrained{.constraints = "file"};
  EXPECT_NO_THROW(constrained.validate({}, {.beam = 4}));
  EXPECT_THROW(constrained.validate({}, {.beam = 1}), UserError);
  EXPECT_THROW(constrained.validate({}, {.beam = 4, .diverse_groups = 2}), UserError);
  try {
    constrained.validate({}, {.sample = 3});
    ADD_FAILURE() << "samples are not constrained";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("with samples"), std::string::npos) << error.what();
  }
}

TokenIds prompt_and(TokenIds first, const TokenIds& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// log p of ids, and of eos if they ended, after a prompt.
double log_prob_after(std::int64_t sentence, const TokenIds& prompt, const TokenIds& ids, bool ended) {
  return tried(sentence, prompt_and(prompt, ids), ended).log_prob - tried(sentence, prompt, false).log_prob;
}

TEST(GuidedSearch, APromptIsReadAndNoPartOfTheOutput) {
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

TEST(GuidedSearch, ABeamRanksWhatFollowsAPrompt) {
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

TEST(GuidedSearch, PromptsOfABatchMayDifferInLength) {
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

TEST(GuidedSearch, APromptIsReadOnceForAllOfItsSamples) {
  const CountsRows model({10, 11});
  search_all(model, {.sample = 8}, {{.longest = 1, .prompt = {4, 5, 6}}, {.longest = 1, .prompt = {1}}});
  EXPECT_EQ(model.rows, (std::vector<std::int64_t>{2, 9, 1, 8}));
}

TEST(GuidedSearch, AnOutputEndsWhereItStops) {
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

TEST(GuidedSearch, AnEndTokenThatIsReadFirstMayEndTheOutput) {
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

TEST(GuidedSearch, EveryStepIsReported) {
  const HashModel model({10});
  const std::vector<Wanted> wanted = {{.longest = 6, .line = 7, .prompt = {4, 5}}};
  const SearchConfig config{.min_length = 6};
  std::vector<TokenIds> reported;
  Pass pass = Pass::inference();
  const auto found = search({.model = model,
                             .wanted = wanted,
                             .ids = kHashIds,
                             .config = config,
                             .on_step =
                                 [&](std::int64_t line, std::span<const std::int32_t> ids) {
                                   EXPECT_EQ(line, 7);
                                   reported.emplace_back(ids.begin(), ids.end());
                                 }},
                            pass);
  const TokenIds& all = found[0][0].ids;
  ASSERT_EQ(all.size(), 6);
  ASSERT_EQ(reported.size(), 5) << "after the last step it is done";
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(reported[i], TokenIds(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i) + 1));
  }
}

class LineRequestFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (directory_ / name).string();
    std::ofstream(path) << text;
    return path;
  }

  TemporaryDirectory directory_;
  Tokenizer tokenizer_ = [this] {
    std::string text;
    for (int i = 0; i < 99; ++i)
      text += "the dog (dog) number " + std::to_string(i * 37) + " sees bulldogs and a cat\n";
    return train_tokenizer({write("text", text)}, {.type = TokenizerType::bpe, .size = 80});
  }();
};

TEST_F(LineRequestFiles, GiveEachLineWhatItAsks) {
  const LineRequests asked({.prefix = write("prefix", "the\n\na cat\n"),
                            .constraints = write("constraints", "\nthe dog\ta\t \n\n"),
                            .forbid = write("forbid", "dog\n\n\xe4\xb8\xad\n")},
                           tokenizer_);
  Wanted wanted{.line = 0};
  asked.add_to(wanted);
  EXPECT_EQ(wanted.prefix, tokenizer_.encode("the"));
  EXPECT_TRUE(wanted.constraints.empty());
  Wanted second{.line = 1};
  asked.add_to(second);
  EXPECT_TRUE(second.prefix.empty());
  EXPECT_EQ(second.constraints, (std::vector<PhraseIds>{tokenizer_.encode("the dog"), tokenizer_.encode("a")}));
  ASSERT_NE(second.forbidden, nullptr);
  EXPECT_EQ(second.forbidden->spaced, std::vector<PhraseIds>{tokenizer_.encode("dog")});
  ASSERT_EQ(second.forbidden->unspaced.size(), 1);
  PhraseIds with_bracket = tokenizer_.encode("(");
  with_bracket.insert(with_bracket.end(), second.forbidden->unspaced[0].begin(), second.forbidden->unspaced[0].end());
  EXPECT_EQ(tokenizer_.decode(with_bracket), "(dog");
}

TEST_F(LineRequestFiles, AreRefusedByFileAndLine) {
  const auto refuses = [&](const std::string& words, const auto& call) {
    try {
      call();
      ADD_FAILURE() << "accepted: " << words;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  const std::string unknown = write("unknown", "the\n\xe4\xb8\xad\n");
  refuses("unknown:2", [&] { LineRequests({.constraints = unknown}, tokenizer_); });
  refuses("unknown:2", [&] { LineRequests({.prefix = unknown}, tokenizer_); });
  const LineRequests asked({.prefix = write("p", "the\nthe dog\n"), .constraints = write("c", "dog\tcat\ndog\n")},
                           tokenizer_);
  EXPECT_NO_THROW(asked.check_count(2));
  refuses("2 lines, but the input has 3", [&] { asked.check_count(3); });
  refuses("2 lines, but the input has more", [&] { asked.check(2, 100); });
  const std::int64_t needed = std::ssize(tokenizer_.encode("the")) + std::ssize(tokenizer_.encode("dog")) +
                              std::ssize(tokenizer_.encode("cat"));
  EXPECT_NO_THROW(asked.check(0, needed));
  refuses("c:1", [&] { asked.check(0, needed - 1); });
  refuses("p:1", [&] { asked.check(0, 0); });
  EXPECT_NO_THROW(asked.check(1, std::ssize(tokenizer_.encode("the dog"))));  // the prefix meets the constraint
}

}  // namespace
}  // namespace attend
