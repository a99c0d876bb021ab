// Words for gaps and vectors of texts, out of an encoder of random weights.
#include "eval/encoder_output.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/tokenizer.hpp"

namespace attend {
namespace {

class EncoderUse : public testing::Test {
 protected:
  EncoderUse() : tokenizer_(letters_of("a dog .\na cat .\n")), model_(options(), tokenizer_.size()) {
    initialise(*model_, 1);
    model_->eval();
  }

  // The probability of the likeliest filling of the first gap.
  double best(const std::string& text) { return fill_masks(*model_, tokenizer_, text, 1).masks[0][0].probability; }

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
    for (const std::vector<Filling>& mask : fill_masks(*model_, tokenizer_, text, 2).masks)
      found.push_back(mask.size());
    return found;
  };
  const std::string dogs = "a dog a dog a dog a dog a dog ";  // more than the 24 positions
  EXPECT_EQ(sizes("a [MASK]" + dogs), (std::vector<std::size_t>{2}));
  EXPECT_EQ(sizes("a [MASK] " + dogs + "[MASK] [MASK]"), (std::vector<std::size_t>{2, 0, 0}));
  EXPECT_TRUE(fill_masks(*model_, tokenizer_, "a [MASK]" + dogs, 2).cut);
  EXPECT_FALSE(fill_masks(*model_, tokenizer_, "a [MASK] .", 2).cut);
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

}  // namespace
}  // namespace attend
