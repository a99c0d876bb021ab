// What a trained encoder or language model says of texts.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/process.hpp"
#include "eval/encoder_output.hpp"
#include "eval/forced_decoding.hpp"
#include "eval/score.hpp"
#include "eval/workers.hpp"
#include "models/bert/bert.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/tokenizer.hpp"

namespace attend {
namespace {

// Words for gaps and vectors of texts, out of an encoder of random weights.

class EncoderUse : public testing::Test {
 protected:
  EncoderUse() : tokenizer_(letters_of("a dog .\na cat .\n")), model_(options(), tokenizer_.size()) {
    initialise(*model_, 1);
    model_->eval();
  }

  // The probability of the likeliest filling of the first gap.
  double best(const std::string& text) {
    return fill_masks(MaskFiller::of(model_), tokenizer_, text, 1).masks[0][0].probability;
  }

  // The hidden states of "[CLS] text [SEP]", read alone.
  torch::Tensor states(const std::string& text) {
    std::vector<std::int64_t> ids = {tokenizer_.special().cls};
    for (const std::int32_t id : tokenizer_.encode(text)) ids.push_back(id);
    ids.push_back(tokenizer_.special().sep);
    SegmentedSequences input;
    input.tokens.ids_M = torch::tensor(ids, torch::kLong);
    input.tokens.layout.append(std::ssize(ids));
    input.segments_M = torch::zeros_like(input.tokens.ids_M);
    const torch::NoGradGuard no_grad;
    Pass pass = Pass::inference();
    return model_->bert->forward(input, pass);
  }

  // Of texts that are read together.
  std::vector<torch::Tensor> vectors(const std::vector<std::string>& texts, const SentenceOptions& options) {
    std::vector<torch::Tensor> result;
    const SentenceEncoder encoder = SentenceEncoder::of(model_->bert);
    for (const std::vector<float>& vector : embed(encoder, tokenizer_, texts, options).vectors) {
      result.push_back(torch::tensor(vector));
    }
    return result;
  }

 private:
  static StackOptions options() {
    StackOptions options;
    options.width = 16;
    options.max_positions = 24;
    return options;
  }

 protected:
  Tokenizer tokenizer_;
  BertForPretraining model_;
};

TEST_F(EncoderUse, FillingAGapReadsASpaceBehindTheGapOnlyWhereThereIsOne) {
  EXPECT_NE(best("a [MASK]."), best("a [MASK] ."));
  EXPECT_EQ(best("a [MASK] ."), best("a [MASK]  ."));
}

TEST_F(EncoderUse, FillingIsCutWhereTheEncoderStopsReading) {
  const auto sizes = [&](const std::string& text) {
    std::vector<std::size_t> found;
    for (const std::vector<Filling>& mask : fill_masks(MaskFiller::of(model_), tokenizer_, text, 2).masks)
      found.push_back(mask.size());
    return found;
  };
  const std::string dogs = "a dog a dog a dog a dog a dog ";  // more than the 24 positions
  EXPECT_EQ(sizes("a [MASK]" + dogs), (std::vector<std::size_t>{2}));
  EXPECT_EQ(sizes("a [MASK] " + dogs + "[MASK] [MASK]"), (std::vector<std::size_t>{2, 0, 0}));
  EXPECT_TRUE(fill_masks(MaskFiller::of(model_), tokenizer_, "a [MASK]" + dogs, 2).cut);
  EXPECT_FALSE(fill_masks(MaskFiller::of(model_), tokenizer_, "a [MASK] .", 2).cut);
  EXPECT_EQ(sizes("a dog"), (std::vector<std::size_t>{}));
  std::string masks;
  for (int i = 0; i < 30; ++i) masks += "[MASK]";
  std::vector<std::size_t> expected(30, 0);
  std::fill_n(expected.begin(), 22, 2);  // between [CLS] and [SEP]
  EXPECT_EQ(sizes(masks), expected);
}

TEST_F(EncoderUse, AVectorIsTheMeanOfTheStatesOfAllTokens) {
  const std::vector<std::string> texts = {"a dog .", "a", "", "a cat and a dog"};
  const std::vector<torch::Tensor> found = vectors(texts, {}), scaled = vectors(texts, {.normalise = true});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const torch::Tensor of_text = states(texts[i]), mean = of_text.mean(0);
    EXPECT_TRUE(torch::allclose(found[i], mean, 1e-5, 1e-6)) << texts[i];
    EXPECT_TRUE(torch::allclose(scaled[i], mean / mean.norm(), 1e-5, 1e-6)) << texts[i];
    if (texts[i].empty()) continue;
    EXPECT_FALSE(torch::allclose(found[i], of_text.slice(0, 1, of_text.size(0) - 1).mean(0), 1e-3, 1e-4))
        << "[CLS] and [SEP] count";
  }
  const std::int64_t length = std::ssize(tokenizer_.encode("a do")) + 2;
  EXPECT_TRUE(torch::allclose(vectors({"a dog ."}, {.max_length = length})[0], states("a do").mean(0), 1e-5, 1e-6));
  EXPECT_THROW(vectors({"a"}, {.max_length = 25}), UserError);
}

TEST_F(EncoderUse, AVectorIsTheStateOfCls) {
  const std::vector<std::string> texts = {"a dog .", "", "a cat and a dog"};
  const std::vector<torch::Tensor> found = vectors(texts, {.pooling = SentencePooling::cls});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(torch::allclose(found[i], states(texts[i])[0], 1e-5, 1e-6)) << texts[i];
  }
}

// Scores of texts.

// The probability of a text, in one forward pass, is what stepping through it says; windows, batches and workers change
// nothing that they should not.

// A language model of random weights over letters; a Transformer reads at most `longest` tokens.
LanguageRun scored_language(LanguageCell cell, std::int64_t longest = 128,
                            PositionKind positions = PositionKind::learned) {
  static const Tokenizer tokenizer = letters_of("a dog sees a cat .\nthe cat saw dogs\n");
  LanguageOptions options{.cell = cell};
  options.stack.width = 16;
  options.stack.layers = 2;
  options.stack.max_positions = longest;
  options.stack.block.positions = positions;
  options.stack.initial_deviation = 0.3;  // probabilities that differ
  const LanguageModel model = make_language_model(options, tokenizer.size());
  initialise(*model, 7);
  model->eval();
  LanguageRun run{.options = options, .tokenizer = tokenizer, .model = model};
  if (!options.is_recurrent()) run.window = longest;
  return run;
}

// The windows of a text, token by token, each from an empty state.
std::vector<double> log_probs_of_steps(const LanguageRun& run, const std::string& line,
                                       const std::vector<ScoredWindow>& windows) {
  const at::NoGradGuard no_grad;
  const std::int32_t end = run.tokenizer.special().eos;
  std::vector<std::int64_t> tokens = {end};
  for (const std::int32_t id : run.tokenizer.encode(line)) tokens.push_back(id);
  tokens.push_back(end);
  std::vector<double> log_probs;
  Pass pass = Pass::inference();
  for (const ScoredWindow& window : windows) {
    const auto state = run.model->start(1);
    for (std::int64_t t = window.begin; t < window.end; ++t) {
      const auto place = static_cast<std::size_t>(t);
      const at::Tensor log_p = run.model->step(*state, at::tensor({tokens[place]}), pass)[0].log_softmax(0);
      if (t >= window.scored) log_probs.push_back(log_p[tokens[place + 1]].item<double>());
    }
  }
  return log_probs;
}

const std::vector<std::string> kScoredTexts = {
    "a dog sees a cat .", "", "dogs", "the cat saw a dog and the cat sees dogs", "a", "the the the", " "};

TEST(LanguageScores, AreThoseOfAStepAfterTheOther) {
  for (const LanguageCell cell : {LanguageCell::transformer, LanguageCell::lstm, LanguageCell::gru}) {
    const LanguageRun run = scored_language(cell);
    const auto scores = score_language(run, kScoredTexts, {});
    ASSERT_EQ(scores.size(), kScoredTexts.size());
    for (std::size_t i = 0; i < kScoredTexts.size(); ++i) {
      const std::vector<std::int32_t> ids = run.tokenizer.encode(kScoredTexts[i]);
      const std::int64_t tokens = std::ssize(ids) + 1;
      const std::vector<double> expected =
          log_probs_of_steps(run, kScoredTexts[i], {{.begin = 0, .scored = 0, .end = tokens}});
      ASSERT_EQ(scores[i].pieces.size(), expected.size());
      double sum = 0;
      for (std::size_t t = 0; t < expected.size(); ++t) {
        EXPECT_EQ(scores[i].pieces[t].id, t < ids.size() ? ids[t] : run.tokenizer.special().eos);
        EXPECT_NEAR(scores[i].pieces[t].log_prob, expected[t], 2e-5)
            << name_of(cell) << ", " << kScoredTexts[i] << ", " << t;
        sum += expected[t];
      }
      EXPECT_NEAR(scores[i].log_prob(), sum, 1e-3);
    }
    EXPECT_NE(scores[0].pieces[0].log_prob, scores[0].pieces[2].log_prob) << "the same piece in another place";
  }
}

TEST(LanguageScores, CountWordsAndBytesWithTheEndOfALine) {
  const auto scores =
      score_language(scored_language(LanguageCell::transformer), std::vector<std::string>{"a  dög .", ""}, {});
  EXPECT_EQ(scores[0].words, 4);
  EXPECT_EQ(scores[0].bytes, 10);
  EXPECT_EQ(scores[1].words, 1);
  EXPECT_EQ(scores[1].bytes, 1);
  EXPECT_EQ(scores[1].pieces.size(), 1U);
}

TEST(LanguageScores, WindowsOverlapByHalf) {
  using Windows = std::vector<ScoredWindow>;
  EXPECT_EQ(scored_windows(9, std::nullopt), (Windows{{0, 0, 9}}));
  EXPECT_EQ(scored_windows(8, 8), (Windows{{0, 0, 8}}));
  EXPECT_EQ(scored_windows(9, 8), (Windows{{0, 0, 8}, {4, 8, 9}}));
  EXPECT_EQ(scored_windows(15, 8), (Windows{{0, 0, 8}, {4, 8, 12}, {8, 12, 15}}));
  EXPECT_EQ(scored_windows(7, 5), (Windows{{0, 0, 5}, {3, 5, 7}}));
  EXPECT_EQ(scored_windows(3, 1), (Windows{{0, 0, 1}, {1, 1, 2}, {2, 2, 3}}));
  EXPECT_EQ(scored_windows(1, 8), (Windows{{0, 0, 1}}));
}

TEST(LanguageScores, ALineLongerThanTheModelReadsIsReadInWindows) {
  for (const PositionKind positions : {PositionKind::learned, PositionKind::rotary}) {
    SCOPED_TRACE(name_of(positions));
    const LanguageRun run = scored_language(LanguageCell::transformer, 8, positions);
    const auto scores = score_language(run, kScoredTexts, {.batch_size = 3});
    for (std::size_t i = 0; i < kScoredTexts.size(); ++i) {
      const std::int64_t tokens = std::ssize(run.tokenizer.encode(kScoredTexts[i])) + 1;
      const std::vector<double> expected = log_probs_of_steps(run, kScoredTexts[i], scored_windows(tokens, 8));
      ASSERT_EQ(std::ssize(scores[i].pieces), tokens);
      for (std::size_t t = 0; t < expected.size(); ++t) {
        EXPECT_NEAR(scores[i].pieces[t].log_prob, expected[t], 2e-5) << kScoredTexts[i] << ", " << t;
      }
    }
  }
}

TEST(LanguageScores, AreTheSameInAnyBatches) {
  for (const LanguageCell cell : {LanguageCell::transformer, LanguageCell::tanh}) {
    const LanguageRun run = scored_language(cell, 16);
    const auto alone = score_language(run, kScoredTexts, {.batch_size = 1, .workers = 1});
    for (const ScoreConfig& config : {ScoreConfig{.batch_size = 3, .workers = 2}, ScoreConfig{.workers = 1}}) {
      const auto together = score_language(run, kScoredTexts, config);
      for (std::size_t i = 0; i < kScoredTexts.size(); ++i) {
        EXPECT_NEAR(together[i].log_prob(), alone[i].log_prob(), 1e-4) << name_of(cell) << ", line " << i;
      }
    }
  }
}

TEST(LanguageScores, BatchesHaveTheLongestFirstAndHeedBothLimits) {
  using Batches = std::vector<std::vector<std::size_t>>;
  const std::vector<std::int64_t> lengths = {3, 9, 3, 1, 3};
  EXPECT_EQ(batches_of_lengths(lengths, 2, 100), (Batches{{1, 0}, {2, 4}, {3}}));
  EXPECT_EQ(batches_of_lengths(lengths, 10, 7), (Batches{{1}, {0, 2}, {4, 3}}));
  EXPECT_EQ(batches_of_lengths(lengths, 10, 18, [&](std::size_t first) { return lengths[first]; }),
            (Batches{{1, 0}, {2, 4, 3}}))
      << "as if all were as long as the first";
  EXPECT_TRUE(batches_of_lengths({}, 10, 7).empty());
}

TEST(LanguageScoresDeathTest, HeedSignals) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        signals::install();
        const LanguageRun run = scored_language(LanguageCell::gru);
        std::raise(SIGTERM);
        try {
          score_language(run, kScoredTexts, {});
        } catch (const Interrupted&) {
          std::_Exit(7);
        }
      },
      testing::ExitedWithCode(7), "");
}

TEST(ScoreTally, ArePerPiecePerWordAndPerByte) {
  const double half = std::log(0.5);
  ScoreTally tally;
  tally.add({.pieces = {{.log_prob = half}, {.log_prob = half}, {.log_prob = half}}, .words = 2, .bytes = 7});
  tally.add({.pieces = {{.log_prob = half}}, .words = 1, .bytes = 1});
  EXPECT_EQ(tally.lines, 2);
  EXPECT_EQ(tally.pieces, 4);
  EXPECT_EQ(tally.bytes, 8);
  EXPECT_NEAR(tally.log_prob, 4 * half, 1e-12);
  EXPECT_NEAR(tally.perplexity_by_piece(), 2, 1e-12);
  EXPECT_NEAR(tally.perplexity_by_word(), std::pow(2, 4.0 / 3), 1e-12);
  EXPECT_NEAR(tally.bits_per_byte(), 0.5, 1e-12);
}

TEST(ScoreTally, ContrastsAreCountedByKindAndDistance) {
  ContrastTable table;
  EXPECT_TRUE(table.add(-1, -2, "agreement", 1));
  EXPECT_FALSE(table.add(-2, -1, "agreement", 3));
  EXPECT_FALSE(table.add(-2, -2, "negation", 3)) << "equally likely is wrong";
  EXPECT_TRUE(table.add(-3, -4, "negation", std::nullopt));
  EXPECT_TRUE(table.add(-3, -4, "", std::nullopt));
  EXPECT_EQ(table.all.pairs, 5);
  EXPECT_EQ(table.all.correct, 3);
  ASSERT_EQ(table.kinds.size(), 2U);
  EXPECT_DOUBLE_EQ(table.kinds.at("agreement").accuracy(), 0.5);
  EXPECT_EQ(table.kinds.at("negation").pairs, 2);
  ASSERT_EQ(table.distances.size(), 2U);
  EXPECT_DOUBLE_EQ(table.distances.at(1).accuracy(), 1);
  EXPECT_DOUBLE_EQ(table.distances.at(3).accuracy(), 0);
  // Wilson: (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n) of 3 in 5.
  EXPECT_NEAR(table.all.interval().low, 0.2307, 1e-3);
  EXPECT_NEAR(table.all.interval().high, 0.8824, 1e-3);
}

// Pseudo-log-likelihoods are what a BERT says of each piece when it is masked by hand.

// A BERT of random weights over letters, so that words have several pieces: "a dog" is ▁ a ▁ d o g.
BertRun bert_of_letters(std::int64_t longest = 64) {
  static const Tokenizer tokenizer = letters_of("a dog .\na cat .\n");
  StackOptions options;
  options.width = 16;
  options.layers = 2;
  options.max_positions = longest;
  options.initial_deviation = 0.3;  // probabilities that differ
  BertForPretraining model(options, tokenizer.size());
  initialise(*model, 5);
  model->eval();
  return {.options = options, .tokenizer = tokenizer, .model = model, .weights = weights_of(*model)};
}

// log p of piece `piece` if those from `first` to `last` - 1 are masked: the whole BERT reads one copy of the pieces
// from `begin` to `end` - 1, and its head all of its states.
double masked_by_hand(const BertRun& run, const std::vector<std::int32_t>& pieces, const MaskedCopy& copy) {
  const at::NoGradGuard no_grad;
  const SpecialIds& special = run.tokenizer.special();
  std::vector<std::int64_t> ids = {special.cls};
  for (std::int64_t i = copy.begin; i < copy.end; ++i) {
    ids.push_back(i >= copy.first && i < copy.last ? special.mask : pieces[static_cast<std::size_t>(i)]);
  }
  ids.push_back(special.sep);
  SegmentedSequences input;
  input.tokens.ids_M = at::tensor(ids, at::kLong);
  input.tokens.layout.append(std::ssize(ids));
  input.segments_M = at::zeros_like(input.tokens.ids_M);
  Pass pass = Pass::inference();
  const at::Tensor read_ME = run.model->predictions->transform(run.model->bert->forward(input, pass));
  const at::Tensor logits_MV =
      at::matmul(read_ME, run.model->bert->table().master().t()) + run.model->predictions->bias;
  const std::int64_t row = copy.first - copy.begin + 1;
  return logits_MV[row].log_softmax(0)[pieces[static_cast<std::size_t>(copy.first)]].item<double>();
}

const std::vector<std::string> kMaskedTexts = {"a dog .", "", "cat", "a dog a cat a dog .", "dog dog"};

TEST(PseudoLogLikelihood, MasksEachPieceInTurn) {
  const BertRun run = bert_of_letters();
  const auto scores = pseudo_log_likelihood(run, kMaskedTexts, false, {});
  ASSERT_EQ(scores.size(), kMaskedTexts.size());
  for (std::size_t i = 0; i < kMaskedTexts.size(); ++i) {
    const std::vector<std::int32_t> pieces = run.tokenizer.encode(kMaskedTexts[i]);
    ASSERT_EQ(scores[i].pieces.size(), pieces.size());
    double sum = 0;
    for (std::int64_t t = 0; t < std::ssize(pieces); ++t) {
      const double expected =
          masked_by_hand(run, pieces, {.begin = 0, .end = std::ssize(pieces), .first = t, .last = t + 1});
      const ForcedPiece& piece = scores[i].pieces[static_cast<std::size_t>(t)];
      EXPECT_EQ(piece.id, pieces[static_cast<std::size_t>(t)]);
      EXPECT_NEAR(piece.log_prob, expected, 2e-5) << kMaskedTexts[i] << ", " << t;
      sum += expected;
    }
    EXPECT_NEAR(scores[i].log_prob(), sum, 1e-4);
  }
  EXPECT_EQ(scores[0].words, 3);
  EXPECT_EQ(scores[0].bytes, 7);
  EXPECT_EQ(scores[1].log_prob(), 0) << "an empty line has nothing to mask";
}

TEST(PseudoLogLikelihood, WithinAWordMasksThePiecesToTheRight) {
  const BertRun run = bert_of_letters();
  const std::vector<std::int32_t> pieces = run.tokenizer.encode("a dog .");
  ASSERT_EQ(pieces.size(), 8U) << "▁ a ▁ d o g ▁ .";
  const auto copy = [&](std::int64_t piece) { return masked_copy(pieces, piece, 64, run.tokenizer, true); };
  EXPECT_EQ(copy(1), (MaskedCopy{.begin = 0, .end = 8, .first = 1, .last = 2}));
  EXPECT_EQ(copy(3), (MaskedCopy{.begin = 0, .end = 8, .first = 3, .last = 6}));
  EXPECT_EQ(copy(4), (MaskedCopy{.begin = 0, .end = 8, .first = 4, .last = 6}));
  EXPECT_EQ(copy(5), (MaskedCopy{.begin = 0, .end = 8, .first = 5, .last = 6}));
  const std::vector<std::string> text = {"a dog ."};
  const auto within = pseudo_log_likelihood(run, text, true, {})[0].pieces;
  const auto without = pseudo_log_likelihood(run, text, false, {})[0].pieces;
  for (std::int64_t t = 0; t < 8; ++t) {
    const auto place = static_cast<std::size_t>(t);
    EXPECT_NEAR(within[place].log_prob, masked_by_hand(run, pieces, copy(t)), 2e-5) << t;
  }
  EXPECT_GT(std::abs(within[3].log_prob - without[3].log_prob), 1e-4) << "o and g do not tell d any more";
  EXPECT_NEAR(within[5].log_prob, without[5].log_prob, 2e-5) << "nothing of the word is to the right of g";
}

// Of 8 tokens, 6 are pieces.
TEST(PseudoLogLikelihood, ALineLongerThanTheEncoderReadsIsNotCut) {
  const BertRun run = bert_of_letters(8);
  const std::vector<std::int32_t> pieces = run.tokenizer.encode("a dog a");
  ASSERT_EQ(pieces.size(), 8U) << "▁ a ▁ d o g ▁ a";
  const auto copy = [&](std::int64_t piece) { return masked_copy(pieces, piece, 8, run.tokenizer, false); };
  EXPECT_EQ(copy(0), (MaskedCopy{.begin = 0, .end = 6, .first = 0, .last = 1}));
  EXPECT_EQ(copy(4), (MaskedCopy{.begin = 1, .end = 7, .first = 4, .last = 5}));
  EXPECT_EQ(copy(7), (MaskedCopy{.begin = 2, .end = 8, .first = 7, .last = 8}));
  const auto scores = pseudo_log_likelihood(run, std::vector<std::string>{"a dog a"}, false, {});
  ASSERT_EQ(scores[0].pieces.size(), pieces.size());
  for (std::int64_t t = 0; t < 8; ++t) {
    EXPECT_NEAR(scores[0].pieces[static_cast<std::size_t>(t)].log_prob, masked_by_hand(run, pieces, copy(t)), 2e-5)
        << t;
  }
}

TEST(PseudoLogLikelihood, IsTheSameInAnyBatches) {
  const BertRun run = bert_of_letters(12);
  for (const bool within_word : {false, true}) {
    const auto alone = pseudo_log_likelihood(run, kMaskedTexts, within_word, {.batch_size = 1, .workers = 1});
    const auto together = pseudo_log_likelihood(run, kMaskedTexts, within_word, {.batch_size = 5, .workers = 2});
    for (std::size_t i = 0; i < kMaskedTexts.size(); ++i) {
      EXPECT_NEAR(together[i].log_prob(), alone[i].log_prob(), 1e-4) << i;
    }
  }
}

TEST(PseudoLogLikelihood, NeedsTheHeadForMaskedTokens) {
  BertRun run = bert_of_letters();
  EXPECT_NO_THROW(run.check_fills_masks("runs/bert"));
  std::erase_if(run.weights, [](const auto& weight) { return weight.first.starts_with("predictions."); });
  EXPECT_THROW(run.check_fills_masks("runs/bert"), UserError);
  EXPECT_THROW(pseudo_log_likelihood(run, kMaskedTexts, false, {}), std::logic_error);
}

}  // namespace
}  // namespace attend
