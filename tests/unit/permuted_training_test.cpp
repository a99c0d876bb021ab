// Tokens in a permuted order: how the order is drawn, and that a model learns them.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "data/batch/sources.hpp"
#include "data/corpus/masking.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "models/layers/layers.hpp"
#include "models/run/run.hpp"
#include "tests/support/parity.hpp"
#include "tests/support/temporary.hpp"
#include "train/pretraining/objective.hpp"

namespace attend {
namespace {

using torch::Tensor;

// Lines of twelve letters that follow one another: a letter is told by any other letter and its distance.
class PermutedText : public testing::Test {
 protected:
  static std::string alphabets() {
    std::string text;
    for (int line = 0; line < 90; ++line) {
      for (int i = 0; i < 12; ++i) text += std::string(1, static_cast<char>('a' + (line * 5 + i) % 16)) + " ";
      text += line % 3 == 2 ? "\n\n" : "\n";
    }
    return text;
  }
  std::string file() const {
    write_file_atomic(directory_ / "text", alphabets());
    return (directory_ / "text").string();
  }
  PretrainingData data(std::uint64_t seed) const {
    return {corpus_,
            tokenizer_,
            {.sequence_objective = SequenceObjective::none, .length = 14, .short_sequences = 0},
            {},
            /*max_tokens=*/120,
            seed,
            PretrainingKind::permuted};
  }

  TemporaryDirectory directory_;
  Tokenizer tokenizer_ = train_tokenizer({file()}, {.type = TokenizerType::word});
  DocumentCorpus corpus_ = DocumentCorpus::open({file()}, tokenizer_, directory_ / "cache");
};

TEST_F(PermutedText, TheLastSixthOfAnOrderOfAllTokensIsPredicted) {
  const PretrainingBatch batch = data(1).batch(0);
  const std::vector<std::int64_t> ids = numbers(batch.input.tokens.ids_M), ranks = numbers(batch.ranks_M);
  const std::vector<std::int64_t> labels = numbers(batch.labels_K);
  const Layout& layout = batch.input.tokens.layout;
  ASSERT_EQ(std::ssize(batch.masked), 2 * layout.size());
  for (std::size_t k = 0; k < labels.size(); ++k) {
    const auto row = static_cast<std::size_t>(batch.masked[k]);
    EXPECT_EQ(labels[k], ids[row]) << "the input is not changed";
    EXPECT_GE(ranks[row], 11);
  }
  for (std::int64_t b = 0; b < layout.size(); ++b) {
    std::vector<std::int64_t> of_sentence(ranks.begin() + layout.offsets[b], ranks.begin() + layout.offsets[b + 1]);
    EXPECT_EQ(of_sentence.front(), 0);
    EXPECT_EQ(of_sentence.back(), 0);
    std::ranges::sort(of_sentence);
    EXPECT_EQ(of_sentence, (std::vector<std::int64_t>{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  }
}

TEST_F(PermutedText, OrdersAreAFunctionOfSeedEpochAndSequence) {
  PretrainingData once = data(1), again = data(1), other = data(2);
  again.begin_epoch(4);
  again.batch(1);
  again.begin_epoch(0);
  const auto same_ranks = [](const PretrainingBatch& a, const PretrainingBatch& b) {
    return at::equal(a.ranks_M, b.ranks_M);
  };
  EXPECT_TRUE(same_ranks(once.batch(1), again.batch(1)));
  EXPECT_FALSE(same_ranks(once.batch(1), once.batch(0)));
  EXPECT_FALSE(same_ranks(once.batch(1), other.batch(1)));
  again.begin_epoch(1);
  EXPECT_FALSE(same_ranks(once.batch(1), again.batch(1)));
}

TEST_F(PermutedText, IsLearnt) {
  StackOptions options{.layers = 2, .width = 32, .max_positions = 16, .dropout = 0, .initial_deviation = 0.1};
  options.block.heads = 2;
  options.block.positions = PositionKind::rotary;
  options.block.attention_dropout = 0;
  BertForPretraining model = make_bert(options, tokenizer_, PretrainingKind::permuted);
  initialise(*model, 3);
  model->to(test_device());
  const PretrainingObjective objective(model);
  PretrainingData text = data(1);
  torch::optim::Adam optimiser(model->parameters(), /*lr=*/3e-3);
  std::vector<double> losses;
  for (std::int64_t update = 0; update < 150; ++update) {
    text.begin_epoch(update / text.num_batches());
    const PretrainingBatch batch = on_device(text.batch(update % text.num_batches()), test_device());
    Pass pass = Pass::train(static_cast<std::uint64_t>(update));
    const std::vector<LossSum> sums = objective.losses(batch, pass);
    ASSERT_EQ(sums.size(), 1U);
    const Tensor loss = sums[0].loss / static_cast<double>(objective.terms(batch)[0].count);
    losses.push_back(loss.item<double>());
    optimiser.zero_grad();
    loss.backward();
    optimiser.step();
    refresh_weights(*model);
  }
  EXPECT_GT(losses.front(), 2.5);
  EXPECT_LT(losses.back(), 1) << "of the frequency of letters alone, 2.8";
}

}  // namespace
}  // namespace attend
