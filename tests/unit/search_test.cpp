// Search over a scripted model whose distribution is a hash of sentence and prefix, so that small cases can be compared
// with trying every sequence.
#include "eval/translate.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <map>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/signals.hpp"

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

TEST(Search, ABeamOfOneIsGreedy) {
  const ScriptedModel model;
  for (std::int64_t sentence = 10; sentence < 40; ++sentence) {
    const auto best = search_one(model, {}, sentence)[0];
    Prefix prefix = {sentence, kBos};
    double total = 0;
    while (true) {
      auto logits = model.logits(prefix);
      logits[kPad] = logits[kBos] = -1;
      const auto id = std::max_element(logits.begin(), logits.end()) - logits.begin();
      if (std::ssize(prefix) - 2 < 2 * 2 + 10) total += log_prob(model, prefix, id);
      if (id == kEos || std::ssize(prefix) - 2 == 2 * 2 + 10) break;
      prefix.push_back(id);
    }
    EXPECT_EQ(best.ids, std::vector<std::int32_t>(prefix.begin() + 2, prefix.end()));
    EXPECT_NEAR(best.log_prob, total, 1e-4);
  }
}

TEST(Search, ABatchIsItsSentences) {
  const ScriptedModel model;
  const SearchConfig config{.beam = 3, .nbest = 3, .max_length = 9};
  const std::vector<std::int64_t> first_ids = {20, 21, 22, 23, 24, 25, 26};
  const auto together = translate({.model = model, .ids = kIds, .config = config}, sources(first_ids));
  for (std::size_t b = 0; b < first_ids.size(); ++b) {
    const auto alone = search_one(model, config, first_ids[b]);
    ASSERT_EQ(together[b].size(), alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(together[b][i].ids, alone[i].ids);
      EXPECT_EQ(together[b][i].score, alone[i].score);
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

TEST(Search, RefusesContradictions) {
  EXPECT_THROW((SearchConfig{.beam = 2, .nbest = 3, .max_length = {}}.validate({})), UserError);
  EXPECT_THROW((SearchConfig{.min_length = 5, .max_length = 4}.validate({})), UserError);
}

}  // namespace
}  // namespace attend
