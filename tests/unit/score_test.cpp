// Forced decoding says of a translation what search says of it, and what stepping through it by hand says; batches,
// workers and neighbours change nothing.
#include "eval/score.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/process.hpp"
#include "eval/translate.hpp"
#include "models/attention/edits.hpp"
#include "models/run/device.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/families.hpp"
#include "tests/support/small_run.hpp"

namespace attend {
namespace {

constexpr TargetIds kToyIds{.bos = 2, .eos = 3, .pad = 0};
constexpr std::int64_t kScoredVocabulary = 13;

using Sentences = std::vector<std::vector<std::int32_t>>;

Batch batch_of(const Sentences& src, const Sentences& tgt) {
  return batch_of_pairs({src.begin(), src.end()}, {tgt.begin(), tgt.end()},
                        {.src_eos = kToyIds.eos, .tgt_bos = kToyIds.bos, .tgt_eos = kToyIds.eos});
}

// Every family, and one with hard attention.
std::vector<Family> scored_families() {
  std::vector<Family> all = families(0.1);
  Family hard = all[2];
  hard.name = "luong_hard";
  hard.config.attention = ChoiceKind::hard;
  all.push_back(hard);
  for (Family& family : all) {
    if (family.config.longest_source) family.config.longest_source = 64;
  }
  return all;
}

const Sentences kSources = {{5, 6, 7, 8, 9}, {4}, {9, 9, 4, 11, 12, 5, 6}, {7, 5}, {10, 4, 8, 6}, {}};

// Searched so widely, and without a penalty on short translations, that many end.
TEST(Forcing, GivesTheLogProbabilityOfSearch) {
  const SearchConfig config{.beam = 150, .nbest = 12, .length_penalty = 0, .min_length = 1, .max_length = 6};
  const auto longest = static_cast<std::size_t>(*config.max_length);
  const std::vector<Family> all = scored_families();
  std::size_t num_ended = 0;
  for (const Family& family : all) {
    const Seq2Seq model = make_seq2seq(family.config, {.src = kScoredVocabulary, .tgt = kScoredVocabulary}, 5);
    model->eval();
    const TargetIds ids = kToyIds;
    const auto found = translate({.model = *model, .ids = ids, .config = config}, batch_of(kSources, {}).src);
    Sentences src, tgt;
    std::vector<double> expected;
    for (std::size_t s = 0; s < kSources.size(); ++s) {
      for (const Hypothesis& hypothesis : found[s]) {
        src.push_back(kSources[s]);
        tgt.push_back(hypothesis.ids);
        expected.push_back(hypothesis.log_prob);
        num_ended += hypothesis.ids.size() < longest;
      }
    }
    const auto forced = force(*model, batch_of(src, tgt));
    ASSERT_EQ(forced.size(), tgt.size());
    for (std::size_t i = 0; i < tgt.size(); ++i) {
      std::vector<ForcedPiece> pieces = forced[i];
      ASSERT_EQ(pieces.size(), tgt[i].size() + 1);
      if (tgt[i].size() == longest) pieces.pop_back();  // search cut it off before its end
      EXPECT_NEAR((TextScore{.pieces = pieces}).log_prob(), expected[i], 1e-4) << family.name << ", " << i;
    }
  }
  EXPECT_GE(num_ended, 10 * all.size());
}

// Of translations of one length, so that none is short of its end.
TEST(Forcing, GivesTheLogProbabilityOfAnEditedSearch) {
  const SearchConfig config{.beam = 2, .min_length = 5, .max_length = 5};
  const UniformWeights uniform;
  const DiagonalWeights diagonal;
  for (const Family& family : scored_families()) {
    const Seq2Seq model = make_seq2seq(family.config, {.src = kScoredVocabulary, .tgt = kScoredVocabulary}, 5);
    model->eval();
    for (const AttentionEdit* edit :
         {static_cast<const AttentionEdit*>(&uniform), static_cast<const AttentionEdit*>(&diagonal)}) {
      const auto found =
          translate({.model = *model, .ids = kToyIds, .config = config, .edit = edit}, batch_of(kSources, {}).src);
      Sentences tgt;
      for (const auto& hypotheses : found) tgt.push_back(hypotheses.front().ids);
      const Batch batch = batch_of(kSources, tgt);
      const auto edited = force(*model, batch, edit), own = force(*model, batch);
      double changed = 0;
      for (std::size_t s = 0; s < tgt.size(); ++s) {
        const auto log_prob = [&](const auto& forced) {
          return log_prob_of(std::span(forced[s]).first(tgt[s].size()));
        };
        EXPECT_NEAR(log_prob(edited), found[s].front().log_prob, 1e-4) << family.name << ", " << s;
        changed = std::max(changed, std::abs(log_prob(edited) - log_prob(own)));
      }
      if (edit == &diagonal && family.config.model != ModelKind::fixed) {
        EXPECT_GT(changed, 1e-5) << family.name;
      }
    }
  }
}

TEST(Forcing, IsAStepAfterTheOther) {
  const at::NoGradGuard no_grad;
  for (const Family& family : scored_families()) {
    const Seq2Seq model = make_seq2seq(family.config, {.src = kScoredVocabulary, .tgt = kScoredVocabulary}, 6);
    model->eval();
    const Sentences tgt = {{4, 11, 7}, {}, {5}, {12, 12, 12, 12, 12, 12}, {8, 4}, {9}};
    const Batch batch = batch_of(kSources, tgt);
    const auto forced = force(*model, batch);
    Pass pass = Pass::inference();
    const auto memory = model->encode(batch.src, pass);
    std::size_t num_best = 0;
    for (std::size_t s = 0; s < tgt.size(); ++s) {
      const auto state = model->start(*memory, std::vector<std::int64_t>{static_cast<std::int64_t>(s)});
      std::int64_t previous = kToyIds.bos;
      for (std::size_t t = 0; t <= tgt[s].size(); ++t) {
        const std::int64_t given = t < tgt[s].size() ? tgt[s][t] : kToyIds.eos;
        const auto log_probs = model->step(*memory, *state, at::tensor({previous}), pass)[0].log_softmax(0);
        const ForcedPiece& piece = forced[s].at(t);
        EXPECT_EQ(piece.id, given);
        EXPECT_NEAR(piece.log_prob, log_probs[given].item<double>(), 2e-5) << family.name;
        EXPECT_NEAR(piece.best_log_prob, log_probs.max().item<double>(), 2e-5) << family.name;
        EXPECT_EQ(piece.is_best, log_probs.argmax().item<std::int64_t>() == given) << family.name;
        num_best += piece.is_best;
        previous = given;
      }
    }
    EXPECT_LT(num_best, 19U);
  }
}

// More logits than a block holds.
TEST(Forcing, ALargeVocabularyIsReadInBlocks) {
  ModelConfig config;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 4;
  config.block.heads = 1;
  config.dropout = 0;
  constexpr std::int64_t kMany = std::int64_t{3} << 20;  // 12 MB of logits in each position
  const Seq2Seq model = make_seq2seq(config, {.src = kMany, .tgt = kMany}, 7);
  model->eval();
  const auto forced = force(*model, batch_of({{5, 6}, {7}}, {{4, 9}, {3'000'000, 8, 6}}));
  EXPECT_EQ(forced[1][0].id, 3'000'000);
  const auto alone = force(*model, batch_of({{7}}, {{3'000'000, 8, 6}}));
  for (std::size_t t = 0; t < 4; ++t) EXPECT_NEAR(forced[1][t].log_prob, alone[0][t].log_prob, 1e-4);
}

const std::vector<std::string> kSourceLines = {"the dog", "",      "a cat and 7 birds sees the number 12",
                                               "   ",     "birds", "\xe4\xb8\xad\xe6\x96\x87",
                                               "dog dog", "\xff",  "number 3 sees a dog"};
const std::vector<std::string> kTargetLines = {"a dog sees",  "birds", "",          "",    "the number  of birds is 7",
                                               "cat and cat", "7",     "the birds", "dog "};

TEST(Scoring, IsTheSameInAnyBatches) {
  for (const Family& family : scored_families()) {
    const TranslationRun trained = small_run(family.config, 8);
    const auto expected = score(trained, kSourceLines, kTargetLines, {.batch_size = 1, .workers = 1});
    ASSERT_EQ(expected.size(), kTargetLines.size());
    for (const ScoreConfig& config :
         {ScoreConfig{.batch_size = 2, .workers = 3}, ScoreConfig{.batch_size = 64, .workers = 2}}) {
      const auto scores = score(trained, kSourceLines, kTargetLines, config);
      for (std::size_t i = 0; i < scores.size(); ++i) {
        const auto ids = trained.tokenizers.tgt.encode(kTargetLines[i]);
        ASSERT_EQ(scores[i].pieces.size(), ids.size() + 1);
        EXPECT_NEAR(scores[i].log_prob(), expected[i].log_prob(), 1e-4) << family.name << ", line " << i;
        EXPECT_EQ(scores[i].pieces.back().id, trained.tokenizers.tgt.special().eos);
      }
    }
  }
}

TEST(Scoring, CountsWordsPiecesAndCutLines) {
  const TranslationRun trained = small_run(families(0)[0].config, 8);
  std::string line;
  while (line.size() < 100'000) line += "dog ";
  const auto scores =
      score(trained, std::vector<std::string>{"a cat", line, ""}, std::vector<std::string>{line, " a  dog ", ""}, {});
  EXPECT_EQ(scores[0].pieces.size(), kMostPieces + 1);
  const auto pieces_of_dog = std::ssize(trained.tokenizers.tgt.encode("dog"));
  EXPECT_EQ(scores[0].words, (std::ssize(scores[0].pieces) - 1 + pieces_of_dog - 1) / pieces_of_dog + 1);
  EXPECT_EQ(scores[1].words, 3);
  EXPECT_EQ(scores[2].words, 1);
  EXPECT_EQ(scores[2].pieces.size(), 1U);
  ScoreTally tally;
  for (const TextScore& one : scores) tally.add(one);
  EXPECT_EQ(tally.lines, 3);
  EXPECT_EQ(tally.cut_sources.report(9), "line 2 was cut to 9 pieces");
  EXPECT_EQ(tally.cut_targets.first, 1);
  EXPECT_EQ(tally.words, scores[0].words + 4);
  EXPECT_NEAR(tally.log_prob, scores[0].log_prob() + scores[1].log_prob() + scores[2].log_prob(), 1e-9);
}

TEST(Scoring, FrozenInLessPrecisionItIsNearlyTheSame) {
  for (const Family& family : scored_families()) {
    const TranslationRun trained = small_run(family.config, 8);
    const auto expected = score(trained, kSourceLines, kTargetLines, {});
    const auto in = [&](Precision precision) {
      const TranslationRun frozen = small_run(family.config, 8);
      freeze(*frozen.model, precision);
      return score(frozen, kSourceLines, kTargetLines, {});
    };
    const auto fp32 = in(Precision::fp32), bf16 = in(Precision::bf16), int8 = in(Precision::int8);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double value = expected[i].log_prob();
      EXPECT_NEAR(fp32[i].log_prob(), value, 1e-4) << family.name;
      // The energies of cosines are up to 10 times a rounded product; without norms, logits are large.
      const auto rounded = [&](double each) {
        return each * (static_cast<double>(expected[i].pieces.size()) - value / 2);
      };
      EXPECT_NEAR(bf16[i].log_prob(), value, rounded(0.03)) << family.name;
      EXPECT_NEAR(int8[i].log_prob(), value, rounded(0.05)) << family.name;
    }
  }
}

TEST(ScoringDeathTest, HeedsSignals) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        signals::install();
        const TranslationRun trained = small_run(families(0)[0].config, 8);
        std::raise(SIGTERM);
        try {
          score(trained, kSourceLines, kTargetLines, {});
        } catch (const Interrupted&) {
          std::_Exit(7);
        }
      },
      testing::ExitedWithCode(7), "");
}

TEST(ContrastTally, APairIsCorrectIfTheTranslationIsLikelier) {
  ContrastTally tally;
  EXPECT_TRUE(tally.add(-1.5, -2));
  EXPECT_FALSE(tally.add(-2, -1.5));
  EXPECT_FALSE(tally.add(-2, -2));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(tally.add(-3, -30));
  EXPECT_EQ(tally.pairs, 5);
  EXPECT_EQ(tally.correct, 3);
  EXPECT_DOUBLE_EQ(tally.accuracy(), 0.6);
  EXPECT_LT(tally.interval().low, 0.6);
  EXPECT_GT(tally.interval().high, 0.6);
}

}  // namespace
}  // namespace attend
