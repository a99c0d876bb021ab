// Pseudo-log-likelihoods are what a BERT says of each piece when it is masked by hand.
#include "eval/encoder_output.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "models/bert/bert_config.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/tokenizer.hpp"

namespace attend {
namespace {

// A BERT of random weights over letters, so that words have several pieces: "a dog" is ▁ a ▁ d o g.
BertRun bert_of_letters(std::int64_t longest = 64) {
  static const Tokenizer tokenizer = letters_of("a dog .\na cat .\n");
  BertOptions options;
  options.width = 16;
  options.layers = 2;
  options.max_positions = longest;
  options.initial_deviation = 0.3;  // probabilities that differ
  BertForPretraining model(bert_config(options, tokenizer.size()));
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
