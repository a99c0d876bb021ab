// Silencing a head of a BERT or a language model equals not reading its output (edits_test.cpp: of translation models).
// The changes of losses without heads are means by piece, importances are derivatives of the loss by gates, and pruning
// follows them.
#include "models/attention/edits.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "analysis/silencing.hpp"
#include "core/files.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "models/bert/bert.hpp"
#include "models/language/language_options.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "tests/support/sentences.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

constexpr std::int64_t kSilencedHeads = 3, kSilencedWidth = 12;

StackOptions silenced_options() {
  StackOptions options;
  options.layers = 2;
  options.width = kSilencedWidth;
  options.max_positions = 16;
  options.initial_deviation = 0.5;  // weights and outputs that differ
  options.block.heads = kSilencedHeads;
  options.block.feed_forward = 19;
  return options;
}

// For every head: `states` with it silenced are those without the columns of the layer's output map that read it.
void expect_silenced_is_not_read(torch::nn::Module& model, AttentionPlace place, const std::string& before_layer,
                                 const std::function<at::Tensor(const AttentionEdit*)>& states) {
  const at::NoGradGuard no_grad;
  const at::Tensor whole = states(nullptr);
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    const at::Tensor output =
        model.named_parameters()[before_layer + std::to_string(layer) + ".self_attn.out_proj.weight"];
    for (std::int64_t head = 0; head < kSilencedHeads; ++head) {
      SCOPED_TRACE(std::to_string(layer) + "." + std::to_string(head));
      const HeadPlace silent{place, layer, head};
      const SilencedHeads silenced({&silent, 1});
      const at::Tensor edited = states(&silenced);
      EXPECT_GT((edited - whole).abs().max().item<double>(), 1e-3);
      at::Tensor read = output.narrow(1, head * kSilencedWidth / kSilencedHeads, kSilencedWidth / kSilencedHeads);
      const at::Tensor kept = read.clone();
      read.zero_();
      EXPECT_LE((edited - states(nullptr)).abs().max().item<double>(), 1e-5);
      read.copy_(kept);
    }
  }
}

TEST(SilencedHeads, OfABertIsNotRead) {
  BertForPretraining model(silenced_options(), kVocabulary);
  initialise(*model, 5);
  model->to(test_device());
  model->eval();
  SegmentedSequences input{.tokens = sequences_of(random_sentences(kSourceLengths, 1)), .segments_M = {}};
  input.segments_M = at::zeros_like(input.tokens.ids_M);
  expect_silenced_is_not_read(*model->bert, AttentionPlace::encoder, "encoder.layers.", [&](const AttentionEdit* edit) {
    Pass pass = Pass::inference();
    if (edit != nullptr) pass.edit_attention(*edit);
    return model->bert->forward(input, pass);
  });
}

TEST(SilencedHeads, OfALanguageModelIsNotRead) {
  LanguageOptions options;
  options.stack = silenced_options();
  const LanguageModel model = make_language_model(options, kVocabulary);
  initialise(*model, 5);
  model->to(test_device());
  model->eval();
  const Sequences texts = sequences_of(random_sentences(kSourceLengths, 1));
  expect_silenced_is_not_read(*model, AttentionPlace::decoder, "decoder.layers.", [&](const AttentionEdit* edit) {
    Pass pass = Pass::inference();
    if (edit != nullptr) pass.edit_attention(*edit);
    return model->forward(texts, pass);
  });
}

// A head whose weights are edited to those of the whole model, and one that costs 0.5 nats a piece in every sentence.
TEST(Silencing, ChangesAreMeansByPieceWithPairedTests) {
  const std::vector<HeadGradient> heads = {{.head = {.layer = 0, .head = 0}},
                                           {.head = {.layer = 1, .head = 2}, .sum = 31}};
  const auto losses = [](const AttentionEdit& edit) {
    std::vector<SentenceLoss> sentences;
    for (std::int64_t i = 0; i < 40; ++i) {
      const std::int64_t pieces = 1 + i % 7;
      const double by_piece =
          2 + 0.01 * static_cast<double>(i % 5) + (edit.edits(AttentionPlace::encoder, 1) ? 0.5 : 0);
      sentences.push_back({by_piece * static_cast<double>(pieces), pieces});
    }
    sentences.push_back({0, 0});  // without pieces
    return sentences;
  };
  const Silencing found = silence_heads("a text", heads, losses);
  EXPECT_EQ(found.sentences, 40);
  EXPECT_EQ(found.pieces, 5 * 28 + 15);
  EXPECT_NEAR(found.loss, 2.02, 0.01);
  ASSERT_EQ(found.heads.size(), 2U);
  EXPECT_EQ(found.heads[0].change.value, 0);
  EXPECT_EQ(found.heads[0].p, 1);
  EXPECT_NEAR(found.heads[1].importance, 31.0 / (5 * 28 + 15), 1e-12);
  EXPECT_TRUE(found.pruning.empty()) << "each layer has one head";
  EXPECT_EQ(found.heads[1].layer, 1);
  EXPECT_EQ(found.heads[1].head, 2);
  EXPECT_NEAR(found.heads[1].change.value, 0.5, 1e-9);
  EXPECT_LT(found.heads[1].p, 0.01);
  EXPECT_NEAR(found.heads[1].p_holm, 2 * found.heads[1].p, 1e-12);
}

TEST(Silencing, OfManyHeadsCanBeSignificant) {
  const std::vector<HeadGradient> heads(200, {.head = {.layer = 1}});
  const auto losses = [](const AttentionEdit& edit) {
    return std::vector<SentenceLoss>(40, {edit.edits(AttentionPlace::encoder, 1) ? 2.5 : 2.0, 1});
  };
  EXPECT_LT(silence_heads("a text", heads, losses).heads.back().p_holm, 0.05);
}

TEST(Silencing, NeedsAPiece) {
  const auto losses = [](const AttentionEdit&) { return std::vector<SentenceLoss>(2); };
  EXPECT_EQ(user_error_of([&] { silence_heads("masked pieces of a text", std::vector<HeadGradient>(1), losses); }),
            "masked pieces of a text: there are none in the sentences that are read");
}

BertRun silenced_run() {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "text", "a dog .\na cat .\n");
  const Tokenizer tokenizer = train_tokenizer({(directory / "text").string()}, {.type = TokenizerType::character});
  const StackOptions options = silenced_options();
  BertForPretraining model(options, tokenizer.size());
  initialise(*model, 5);
  model->eval();
  return {.options = options, .tokenizer = tokenizer, .model = model, .weights = weights_of(*model)};
}

TEST(Silencing, MaskedTextsAreTheSameEveryTime) {
  const BertRun run = silenced_run();
  const std::vector<std::string> texts = {"a dog .", "a cat a dog a cat a dog .", "cat"};
  const MaskedTexts masked(run, texts, {.mask_rate = 0.3});
  const auto whole = masked.losses({.workers = 2}), again = masked.losses({.batch_size = 1, .workers = 1});
  ASSERT_EQ(whole.size(), texts.size());
  EXPECT_EQ(whole[0].pieces, 3) << "0.3 of ▁ a ▁ d o g ▁ . between [CLS] and [SEP]";
  EXPECT_EQ(whole[1].pieces, 5) << "of the 16 tokens that the encoder reads";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_GT(whole[i].loss, 0);
    EXPECT_EQ(whole[i].pieces, again[i].pieces);
    EXPECT_NEAR(whole[i].loss, again[i].loss, 1e-4) << "whatever the batches";
  }
  const HeadPlace silent{AttentionPlace::encoder, 0, 1};
  const SilencedHeads silenced({&silent, 1});
  ScoreConfig config{.workers = 1};
  config.edit = &silenced;
  EXPECT_GT(std::abs(masked.losses(config)[0].loss - whole[0].loss), 1e-4);
}

// A gate of one head, by which its weights are multiplied.
class OneGate final : public AttentionEdit {
 public:
  OneGate(const HeadPlace& head, float gate) : head_(head), gate_(gate) {}
  bool edits(AttentionPlace place, std::int64_t layer) const override {
    return place == head_.place && layer == head_.layer;
  }
  at::Tensor edit(AttentionPlace /*place*/, std::int64_t /*layer*/, const at::Tensor& weights_BNTS,
                  const Places& /*places*/) const override {
    at::Tensor gated_BNTS = weights_BNTS.clone();
    gated_BNTS.select(1, head_.head).mul_(gate_);
    return gated_BNTS;
  }

 private:
  HeadPlace head_;
  float gate_;
};

// The derivatives of the losses of three texts, of which the absolute values are summed.
TEST(Silencing, GradientsAreDifferencesOfLossesByTheGate) {
  const BertRun run = silenced_run();
  const std::vector<std::string> texts = {"a dog .", "a cat a dog a cat a dog .", "cat"};
  const MaskedTexts masked(run, texts, {.mask_rate = 0.3});
  const auto found =
      head_gradients([&](const ScoreConfig& config) { masked.losses(config); }, {.batch_size = 64, .workers = 2});
  ASSERT_EQ(found.size(), 2U * kSilencedHeads);
  double least = 1e9;
  for (const auto& [head, sum] : found) {
    const auto losses = [&](float gate) {
      const OneGate edit(head, gate);
      ScoreConfig config{.workers = 1};
      config.edit = &edit;
      return masked.losses(config);
    };
    constexpr float kStep = 0.02F;
    const auto above = losses(1 + kStep), below = losses(1 - kStep);
    double expected = 0, signed_sum = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const double slope = (above[i].loss - below[i].loss) / (2 * kStep);
      expected += std::abs(slope);
      signed_sum += slope;
    }
    EXPECT_NEAR(sum, expected, 1e-3 + 0.01 * expected) << to_text(head);
    least = std::min(least, std::abs(signed_sum) / expected);
  }
  EXPECT_LT(least, 0.95) << "of some head the slopes of texts differ in sign";
}

// Three heads in layer 0 and two in layer 1; each costs its number of tenths of a nat.
TEST(Silencing, HeadsArePrunedInTheOrderOfTheirImportanceButTheBestOfEachLayer) {
  const std::vector<HeadGradient> heads = {{.head = {.layer = 0, .head = 0}, .sum = 4},
                                           {.head = {.layer = 0, .head = 1}, .sum = 1},
                                           {.head = {.layer = 0, .head = 2}, .sum = 3},
                                           {.head = {.layer = 1, .head = 0}, .sum = 2},
                                           {.head = {.layer = 1, .head = 1}, .sum = 0.5}};
  const auto losses = [](const AttentionEdit& edit) {
    double loss = 1;
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      if (!edit.edits(AttentionPlace::encoder, layer)) continue;
      const at::Tensor gates = edit.edit(AttentionPlace::encoder, layer, at::ones({1, 3, 1, 1}), {}).flatten();
      loss += (1 - gates).sum().item<double>() / 10;
    }
    return std::vector<SentenceLoss>(20, {loss, 1});
  };
  const Silencing found = silence_heads("a text", heads, losses);
  const std::vector<HeadPlace> order = pruning_order(found.heads);
  ASSERT_EQ(order.size(), 3U);
  EXPECT_EQ(to_text(order[0]), "encoder.1.1");
  EXPECT_EQ(to_text(order[1]), "encoder.0.1");
  EXPECT_EQ(to_text(order[2]), "encoder.0.2");
  const std::vector<AttentionPlace> encoder = {AttentionPlace::encoder}, others = {AttentionPlace::cross};
  EXPECT_EQ(heads_to_prune(found, 0.4, encoder).size(), 2U);
  EXPECT_EQ(heads_to_prune(found, 0.95, encoder).size(), 3U);
  EXPECT_TRUE(heads_to_prune(found, 0.05, encoder).empty());
  EXPECT_TRUE(heads_to_prune(found, 0.95, others).empty());
  ASSERT_EQ(found.pruning.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found.pruning[i].removed, static_cast<std::int64_t>(i) + 1);
    EXPECT_DOUBLE_EQ(found.pruning[i].share, static_cast<double>(i + 1) / 5);
    EXPECT_NEAR(found.pruning[i].loss, 1 + 0.1 * static_cast<double>(i + 1), 1e-6);
  }
}

}  // namespace
}  // namespace attend
