// Search over a scripted model whose distribution is a hash of sentence and prefix, so that small cases can be compared
// with trying every sequence.
#include "eval/translate.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/random.hpp"

namespace attend {
namespace {

constexpr std::int64_t kPad = 0, kBos = 2, kEos = 3, kWords = 6;
constexpr TargetIds kIds{.bos = kBos, .eos = kEos, .pad = kPad};

using Prefix = std::vector<std::int64_t>;  // the sentence's first id, then the tokens fed so far

struct ScriptedMemory : Memory {
  std::vector<std::int64_t> first_ids;
};

struct ScriptedState : DecoderState {
  std::vector<Prefix> prefixes;
  void select(std::span<const std::int64_t> rows) override {
    std::vector<Prefix> chosen;
    for (const auto row : rows) chosen.push_back(prefixes.at(row));
    prefixes = chosen;
  }
};

class ScriptedModel : public Seq2SeqImpl {
 public:
  // The logits that follow a prefix.
  virtual std::vector<float> logits(const Prefix& prefix) const {
    RandomStream random(hash(prefix));
    std::vector<float> result;
    for (std::int64_t i = 0; i < kWords; ++i) result.push_back(static_cast<float>(4 * random.uniform()));
    return result;
  }

  static std::uint64_t hash(const Prefix& prefix) {
    std::uint64_t key = 1;
    for (const auto id : prefix) key = combine_keys(key, id);
    return key;
  }
  std::shared_ptr<const Memory> encode(const Sequences& src, Pass&) const override {
    auto memory = std::make_shared<ScriptedMemory>();
    memory->layout = src.layout;
    for (std::int64_t b = 0; b < src.layout.size(); ++b) {
      memory->first_ids.push_back(src.ids_M[src.layout.offsets[b]].item<std::int64_t>());
    }
    return memory;
  }
  std::unique_ptr<DecoderState> start(const Memory& memory, std::span<const std::int64_t> sentences) const override {
    auto state = std::make_unique<ScriptedState>();
    for (const auto sentence : sentences) {
      state->prefixes.push_back({static_cast<const ScriptedMemory&>(memory).first_ids[sentence]});
    }
    return state;
  }
  torch::Tensor step(const Memory& /*memory*/, DecoderState& state, const torch::Tensor& previous_R,
                     Pass& /*pass*/) const override {
    auto& prefixes = static_cast<ScriptedState&>(state).prefixes;
    const std::int64_t rows = std::ssize(prefixes);
    EXPECT_EQ(previous_R.size(0), rows);
    torch::Tensor logits_RV = torch::empty({rows, kWords});
    for (std::int64_t r = 0; r < rows; ++r) {
      prefixes[r].push_back(previous_R[r].item<std::int64_t>());
      logits_RV[r] = torch::tensor(logits(prefixes[r]));
    }
    return logits_RV;
  }
  torch::Tensor forward(const Batch&, Pass&) const override { return {}; }
  const ops::Weight& source_table() const override { return weight_; }
  const ops::Weight& output_table() const override { return weight_; }

 private:
  ops::Weight weight_;
};

Sequences sources(const std::vector<std::int64_t>& first_ids) {
  Sequences src;
  std::vector<std::int64_t> ids;
  for (const auto first : first_ids) {  // lengths 2, 3, 2, 3, …
    ids.insert(ids.end(), {first, kEos});
    if (src.layout.size() % 2 == 1) ids.push_back(kEos);
    src.layout.append(std::ssize(ids) - src.layout.num_tokens());
  }
  src.ids_M = torch::tensor(ids, torch::kLong);
  return src;
}

// The likeliest words of all are marks of an encoder.
class PrefersMarks : public ScriptedModel {
 public:
  static constexpr std::int64_t kCls = 4, kMask = 1;
  std::vector<float> logits(const Prefix& prefix) const override {
    std::vector<float> result = ScriptedModel::logits(prefix);
    result[kCls] = result[kMask] = 9;
    return result;
  }
};

std::vector<Hypothesis> search_one(const Seq2SeqImpl& model, const SearchConfig& config, std::int64_t first_id) {
  return translate({.model = model, .ids = kIds, .config = config}, sources({first_id}))[0];
}

double log_prob(const ScriptedModel& model, const Prefix& prefix, std::int64_t id) {
  return torch::log_softmax(torch::tensor(model.logits(prefix), torch::kDouble), 0)[id].item<double>();
}

// Every sequence of at most `longest` ids with its score, by trying.
void enumerate(const ScriptedModel& model, const SearchConfig& config, Prefix prefix, double so_far,
               std::map<double, std::vector<std::int32_t>, std::greater<>>& found) {
  const std::vector<std::int32_t> ids(prefix.begin() + 2, prefix.end());
  const auto length = static_cast<std::int64_t>(ids.size());
  const auto score = [&](double log_p, std::int64_t n) { return log_p / std::pow(n, config.length_penalty); };
  if (length == *config.max_length) {
    found[score(so_far, length)] = ids;
    return;
  }
  if (length >= config.min_length) found[score(so_far + log_prob(model, prefix, kEos), length + 1)] = ids;
  for (const std::int64_t id : {1, 4, 5}) {
    Prefix longer = prefix;
    longer.push_back(id);
    enumerate(model, config, longer, so_far + log_prob(model, prefix, id), found);
  }
}

TEST(Search, FindsNoMarksOfAnEncoder) {
  const PrefersMarks model;
  TargetIds ids = kIds;
  ids.marks = {PrefersMarks::kCls, -1, PrefersMarks::kMask};
  for (const std::int64_t beam : {1, 3}) {
    const SearchConfig config{.beam = beam, .nbest = beam, .max_length = 4};
    const auto found = translate({.model = model, .ids = ids, .config = config}, sources({10}))[0];
    ASSERT_EQ(std::ssize(found), beam) << "as many candidates as the beam needs";
    for (const Hypothesis& hypothesis : found) {
      for (const std::int32_t id : hypothesis.ids) EXPECT_EQ(id, 5);
    }
  }
}

TEST(Search, AWideBeamFindsWhatTryingEverythingFinds) {
  const ScriptedModel model;
  for (const double alpha : {0.0, 0.6, 1.0, 2.0}) {
    for (const std::int64_t min_length : {0, 2}) {
      SearchConfig config{.beam = 150, .nbest = 5, .length_penalty = alpha, .min_length = min_length, .max_length = 4};
      for (std::int64_t sentence = 10; sentence < 14; ++sentence) {
        std::map<double, std::vector<std::int32_t>, std::greater<>> found;
        enumerate(model, config, {sentence, kBos}, 0, found);
        const auto best = search_one(model, config, sentence);
        ASSERT_EQ(best.size(), 5);
        auto expected = found.begin();
        for (const Hypothesis& hypothesis : best) {
          EXPECT_NEAR(hypothesis.score, expected->first, 1e-5);
          EXPECT_EQ(hypothesis.ids, expected->second);
          ++expected;
        }
      }
    }
  }
}

TEST(Search, LengthsAreKept) {
  const ScriptedModel model;
  for (const std::int64_t beam : {1, 4}) {
    for (std::int64_t sentence = 10; sentence < 20; ++sentence) {
      const auto forced = search_one(model, {.beam = beam, .min_length = 7, .max_length = 7}, sentence)[0];
      EXPECT_EQ(forced.ids.size(), 7);
      const auto shorter = search_one(model, {.beam = beam, .min_length = 1, .max_length = 3}, sentence)[0];
      EXPECT_GE(shorter.ids.size(), 1);
      EXPECT_LE(shorter.ids.size(), 3);
    }
  }
}

class LovesPadding : public ScriptedModel {
  std::vector<float> logits(const Prefix& prefix) const override {
    auto result = ScriptedModel::logits(prefix);
    result[kPad] = result[kBos] = 50;
    return result;
  }
};

TEST(Search, NeverSaysPadOrBos) {
  for (const std::int64_t beam : {1, 3}) {
    const auto best = search_one(LovesPadding(), {.beam = beam, .min_length = 4, .max_length = {}}, 10);
    EXPECT_GE(best[0].ids.size(), 4);
    for (const auto id : best[0].ids) {
      EXPECT_NE(id, kPad);
      EXPECT_NE(id, kBos);
    }
  }
}

class BreaksAfterTwo : public ScriptedModel {
  std::vector<float> logits(const Prefix& prefix) const override {
    auto result = ScriptedModel::logits(prefix);
    if (prefix[0] == 10 && prefix.size() == 4) result[5] = std::numeric_limits<float>::quiet_NaN();
    return result;
  }
};

TEST(Search, NotANumberEndsTheSentenceAndNoOther) {
  const BreaksAfterTwo broken;
  const ScriptedModel sound;
  for (const std::int64_t beam : {1, 3}) {
    const SearchConfig config{.beam = beam, .min_length = 4, .max_length = {}};
    const auto results = translate({.model = broken, .ids = kIds, .config = config}, sources({10, 12}));
    EXPECT_EQ(results[0][0].ids.size(), 2);
    EXPECT_TRUE(std::isfinite(results[0][0].score));
    const auto expected = translate({.model = sound, .ids = kIds, .config = config}, sources({10, 12}));
    EXPECT_EQ(results[1][0].ids, expected[1][0].ids);
  }
}

TEST(Search, NoSentencesGiveNoHypotheses) {
  const ScriptedModel model;
  const SearchConfig config;
  EXPECT_TRUE(translate({.model = model, .ids = kIds, .config = config}, Sequences{torch::empty({0}, torch::kLong), {}})
                  .empty());
}

// Says the same after every prefix, at once for all rows.
class SaysTheSame : public ScriptedModel {
 public:
  torch::Tensor step(const Memory& /*memory*/, DecoderState& /*state*/, const torch::Tensor& previous_R,
                     Pass& /*pass*/) const override {
    return torch::tensor(logits({10, kBos})).repeat({previous_R.size(0), 1});
  }
};

// The number of times that each token is the first of 100,000 samples of 100 lines.
std::vector<std::int64_t> first_tokens(SearchConfig config) {
  config.sample = 1000;
  config.max_length = 1;
  const SaysTheSame model;
  std::vector<std::int64_t> counts(kWords);
  const auto results =
      translate({.model = model, .ids = kIds, .config = config}, sources(std::vector<std::int64_t>(100, 10)));
  for (const auto& samples : results) {
    EXPECT_EQ(samples.size(), 1000);
    for (const Hypothesis& sample : samples) ++counts[sample.ended ? kEos : sample.ids.at(0)];
  }
  return counts;
}

TEST(Search, SamplesHaveTheDistributionOfTheModel) {
  const ScriptedModel model;
  for (const double temperature : {1.0, 0.5}) {
    for (const std::int64_t top_k : {0, 3}) {
      const auto counts = first_tokens({.temperature = temperature, .top_k = top_k});
      std::vector<double> weights;
      for (const float logit : model.logits({10, kBos})) weights.push_back(std::exp(logit / temperature));
      weights[kPad] = weights[kBos] = 0;
      if (top_k == 3) *std::ranges::min_element(weights, {}, [](double w) { return w > 0 ? w : 1e9; }) = 0;
      const double total = std::reduce(weights.begin(), weights.end());
      for (std::int64_t id = 0; id < kWords; ++id) {
        const double p = weights[id] / total;
        EXPECT_NEAR(static_cast<double>(counts[id]), 1e5 * p, 4 * std::sqrt(1e5 * p * (1 - p))) << "token " << id;
      }
    }
  }
}

void expect_equal_samples(const std::vector<Hypothesis>& ours, const std::vector<Hypothesis>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].ids, theirs[i].ids);
    EXPECT_EQ(ours[i].score, theirs[i].score);
  }
}

TEST(Search, ASampleIsAFunctionOfSeedLineAndNumber) {
  const ScriptedModel model;
  const SearchConfig config{.max_length = 9, .sample = 5, .seed = 4};
  const auto drawn = [&](const SearchConfig& with, const std::vector<std::int64_t>& first_ids,
                         const std::vector<std::int64_t>& lines) {
    return translate({.model = model, .ids = kIds, .config = with}, sources(first_ids), lines);
  };
  const std::vector<std::int64_t> first_ids = {20, 21, 22, 20, 24, 25, 26};
  const auto together = drawn(config, first_ids, {0, 1, 2, 3, 4, 5, 6});
  const auto reversed = drawn(config, {first_ids.rbegin(), first_ids.rend()}, {6, 5, 4, 3, 2, 1, 0});
  SearchConfig fewer = config, other_seed = config;
  fewer.sample = 2;
  other_seed.seed = 5;
  for (std::int64_t b = 0; b < 7; ++b) {
    expect_equal_samples(together[b], reversed[6 - b]);
    expect_equal_samples(together[b], drawn(config, {first_ids[b]}, {b})[0]);
    expect_equal_samples({together[b].begin(), together[b].begin() + 2}, drawn(fewer, {first_ids[b]}, {b})[0]);
  }
  const auto texts = [](const std::vector<Hypothesis>& samples) {
    std::vector<std::vector<std::int32_t>> ids;
    for (const Hypothesis& sample : samples) ids.push_back(sample.ids);
    return ids;
  };
  EXPECT_NE(texts(together[0]), texts(together[3])) << "two lines with the same text";
  EXPECT_NE(texts(together[0]), texts(drawn(other_seed, {20}, {0})[0]));
  EXPECT_NE(together[0][0].ids, together[0][1].ids);
}

// The log p that the model gives to a hypothesis.
double log_prob_of(const ScriptedModel& model, std::int64_t first_id, const Hypothesis& hypothesis) {
  Prefix prefix = {first_id, kBos};
  double total = 0;
  for (const auto id : hypothesis.ids) {
    total += log_prob(model, prefix, id);
    prefix.push_back(id);
  }
  return total + (hypothesis.ended ? log_prob(model, prefix, kEos) : 0);
}

TEST(Search, SamplesKeepTheirLengthsAndTheProbabilitiesOfTheModel) {
  const ScriptedModel model;
  const SearchConfig config{
      .length_penalty = 0.5, .min_length = 2, .max_length = 6, .sample = 50, .temperature = 1.5, .top_p = 0.95};
  const auto samples = search_one(model, config, 10);
  ASSERT_EQ(samples.size(), 50);
  std::int64_t ended = 0;
  for (const Hypothesis& sample : samples) {
    EXPECT_GE(sample.ids.size(), 2);
    EXPECT_LE(sample.ids.size(), 6);
    for (const auto id : sample.ids) EXPECT_TRUE(id == 1 || id == 4 || id == 5) << id;
    EXPECT_TRUE(sample.ended || sample.ids.size() == 6);
    EXPECT_EQ(sample.token_log_probs.size(), sample.ids.size() + (sample.ended ? 1 : 0));
    EXPECT_NEAR(std::reduce(sample.token_log_probs.begin(), sample.token_log_probs.end()), sample.log_prob, 1e-4);
    EXPECT_NEAR(sample.log_prob, log_prob_of(model, 10, sample), 1e-4);
    EXPECT_NEAR(sample.score, sample.log_prob / std::sqrt(sample.token_log_probs.size()), 1e-9);
    ended += sample.ended ? 1 : 0;
  }
  EXPECT_GT(ended, 0);
  EXPECT_LT(ended, 50);
}

TEST(Search, NotANumberEndsASample) {
  const BreaksAfterTwo broken;
  for (const Hypothesis& sample : search_one(broken, {.min_length = 4, .sample = 3}, 10)) {
    EXPECT_EQ(sample.ids.size(), 2);
    EXPECT_FALSE(sample.ended);
    EXPECT_TRUE(std::isfinite(sample.score));
  }
}

// Three words can follow without repetition, in some order, and then the end.
TEST(Search, ABeamDoesNotRepeatNgrams) {
  const ScriptedModel model;
  std::int64_t changed = 0;
  for (const std::int64_t beam : {1, 3}) {
    for (std::int64_t sentence = 10; sentence < 20; ++sentence) {
      const SearchConfig plain{.beam = beam, .min_length = 3, .max_length = 8};
      SearchConfig config = plain;
      config.no_repeat_ngram = 1;
      const Hypothesis best = search_one(model, config, sentence)[0];
      EXPECT_TRUE(best.ended);
      EXPECT_TRUE(std::ranges::is_permutation(best.ids, std::vector{1, 4, 5}));
      EXPECT_NEAR(best.log_prob, log_prob_of(model, sentence, best), 1e-4);
      changed += best.ids != search_one(model, plain, sentence)[0].ids;
    }
  }
  EXPECT_GT(changed, 0);
}

TEST(Search, APenaltyMakesRepetitionLessLikely) {
  const ScriptedModel model;
  std::int64_t changed = 0;
  for (std::int64_t sentence = 10; sentence < 30; ++sentence) {
    const SearchConfig config{.max_length = 8, .repetition_penalty = 1.5};
    const Hypothesis best = search_one(model, config, sentence)[0];
    Prefix prefix = {sentence, kBos};
    bool ended = false;
    while (!ended && prefix.size() < 10) {
      std::map<double, std::int64_t> ids;
      for (const std::int64_t id : {1, 4, 5, static_cast<int>(kEos)}) {
        const bool is_said = std::ranges::find(prefix.begin() + 2, prefix.end(), id) != prefix.end();
        ids[log_prob(model, prefix, id) * (is_said ? 1.5 : 1)] = id;
      }
      ended = ids.rbegin()->second == kEos;
      if (!ended) prefix.push_back(ids.rbegin()->second);
    }
    EXPECT_EQ(best.ids, std::vector<std::int32_t>(prefix.begin() + 2, prefix.end()));
    EXPECT_EQ(best.ended, ended);
    EXPECT_NEAR(best.log_prob, log_prob_of(model, sentence, best), 1e-4);
    changed += best.ids != search_one(model, {.max_length = 8}, sentence)[0].ids;
  }
  EXPECT_GT(changed, 0);
}

// Raises SIGTERM in its third step; never ends a sentence.
class IsTerminated : public ScriptedModel {
  std::vector<float> logits(const Prefix& prefix) const override {
    if (prefix.size() == 4) std::raise(SIGTERM);
    if (prefix.size() > 5) std::_Exit(1);  // a step too many
    return ScriptedModel::logits(prefix);
  }
};

TEST(SearchDeathTest, HeedsSignalsBetweenSteps) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        signals::install();
        try {
          search_one(IsTerminated(), {.min_length = 1000, .max_length = 1000}, 10);
        } catch (const Interrupted&) {
          std::_Exit(7);
        }
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace attend
