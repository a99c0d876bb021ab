// Heads that are silenced or missing.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "analysis/silencing.hpp"
#include "core/files.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "eval/score.hpp"
#include "models/attention/edits.hpp"
#include "models/bert/bert.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/new_run.hpp"
#include "models/run/run.hpp"
#include "tests/support/families.hpp"
#include "tests/support/sentences.hpp"
#include "tests/support/small_run.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// Silencing a head of a BERT or a language model equals not reading its output (edits_test.cpp: of translation models).
// The changes of losses without heads are means by piece, importances are derivatives of the loss by gates, and pruning
// follows them.

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

// A pruned run computes the same as the whole one with the same heads silenced, whatever its attention; it can be
// pruned again.

const std::vector<std::string> kPrunedSources = {"the dog sees a cat", "dog", "number 7 and 49 birds"};
const std::vector<std::string> kPrunedTargets = {"a cat sees the dog", "the number", "and"};

template <class Scores>
void expect_same_pieces(const Scores& found, const Scores& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].pieces.size(), expected[i].pieces.size());
    for (std::size_t t = 0; t < found[i].pieces.size(); ++t) {
      const double value = expected[i].pieces[t].log_prob;
      EXPECT_NEAR(found[i].pieces[t].log_prob, value, 2e-5 * std::max(1.0, std::abs(value))) << i << " " << t;
    }
  }
}

class PrunedTransformer : public testing::TestWithParam<Family> {};

TEST_P(PrunedTransformer, IsTheSilencedOne) {
  const ModelConfig& config = GetParam().config;
  const TemporaryDirectory directory;
  const auto whole = directory / "whole", pruned = directory / "pruned", again = directory / "again";
  const TranslationRun run = small_run(config, 3);
  make_directories(whole);
  run.tokenizers.save(whole / "tokenizer");
  write_file_atomic(whole / "config.toml", to_toml(config) + "max-steps = 7\n");
  write_only_checkpoint(whole, weights_of(*run.model), identity_of(config, run.tokenizers));
  write_run_record(whole, record_of_kind(RunKind::train));
  const auto scores = [&](const TranslationRun& scored, const AttentionEdit* edit) {
    ScoreConfig how{.workers = 1};
    how.edit = edit;
    return score(scored, kPrunedSources, kPrunedTargets, how);
  };
  std::vector<HeadPlace> removed = {
      {AttentionPlace::encoder, 0, 1}, {AttentionPlace::decoder, 1, 0}, {AttentionPlace::cross, 2, 1}};
  const std::vector<AttentionPlace> places = prunable_places(whole);
  const auto cannot = [&](AttentionPlace place) { return std::ranges::find(places, place) == places.end(); };
  const bool is_free = config.block.projections == ProjectionKind::none;
  EXPECT_EQ(cannot(AttentionPlace::decoder), is_free);
  if (std::erase_if(removed, [&](const HeadPlace& head) { return cannot(head.place); }) > 0) {
    const HeadPlace kept{AttentionPlace::encoder, 0, 1};
    const std::string error = user_error_of([&] { write_pruned_run(whole, "auto", {&kept, 1}, pruned); });
    EXPECT_NE(error.find(is_free ? "encoder.0.1, but projections is none" : "encoder.0.1, but self-attention is "),
              std::string::npos)
        << error;
  }
  write_pruned_run(whole, "auto", removed, pruned);
  const TranslationRun loaded = load_run_as<TranslationRun>(pruned);
  EXPECT_LT(count_parameters(*loaded.model), count_parameters(*run.model));
  std::vector<std::string> names;
  for (const HeadPlace& head : removed) names.push_back(to_text(head));
  EXPECT_EQ(loaded.options.block.pruned_heads, names);
  EXPECT_NE(read_file(pruned / "config.toml").find("max-steps = 7"), std::string::npos);
  SilencedHeads gates(removed);
  expect_same_pieces(scores(loaded, nullptr), scores(run, &gates));

  if (*config.block.heads != 3 || is_free) return;
  const HeadPlace second{AttentionPlace::decoder, 1, 0};  // of those that are left
  write_pruned_run(pruned, "auto", {&second, 1}, again);
  removed.push_back({AttentionPlace::decoder, 1, 1});
  gates = SilencedHeads(removed);
  expect_same_pieces(scores(load_run_as<TranslationRun>(again), nullptr), scores(run, &gates));
  const std::vector<HeadPlace> last = {second};
  EXPECT_NE(user_error_of([&] { write_pruned_run(again, "auto", last, directory / "no"); }).find("one must stay"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory / "no"));
}

std::vector<Family> transformers_to_prune() {
  std::vector<Family> found = families(0);
  std::erase_if(found, [](const Family& family) { return family.config.model != ModelKind::transformer; });
  return found;
}
INSTANTIATE_TEST_SUITE_P(Families, PrunedTransformer, testing::ValuesIn(transformers_to_prune()),
                         [](const auto& tested) { return tested.param.name; });

StackOptions options_to_prune(PositionKind positions) {
  StackOptions options;
  options.layers = 2;
  options.width = 12;
  options.max_positions = 32;
  options.initial_deviation = 0.5;
  options.block.heads = 3;
  options.block.feed_forward = 19;
  options.block.positions = positions;
  return options;
}

// Writes a run with the weights of a model.
template <class Options, class Model>
void write_run_to_prune(const std::filesystem::path& run, RunKind kind, const Options& options,
                        const Tokenizer& tokenizer, const Model& model) {
  make_directories(run);
  save_run_tokenizer(tokenizer, run);
  write_file_atomic(run / "config.toml", to_toml(options));
  write_only_checkpoint(run, weights_of(*model), identity_of(options, tokenizer));
  write_run_record(run, record_of_kind(kind));
}

TEST(PrunedRun, OfABertIsTheSilencedOne) {
  const TemporaryDirectory directory;
  const StackOptions options = options_to_prune(PositionKind::alibi);
  const Tokenizer tokenizer = small_tokenizer({.size = 64});
  BertForPretraining model(options, tokenizer.size());
  initialise(*model, 5);
  write_run_to_prune(directory / "whole", RunKind::pretrain, options, tokenizer, model);
  const std::vector<HeadPlace> removed = {{AttentionPlace::encoder, 0, 1}, {AttentionPlace::encoder, 0, 0}};
  write_pruned_run(directory / "whole", "auto", removed, directory / "pruned");
  const BertRun whole = load_run_as<BertRun>(directory / "whole"), pruned = load_run_as<BertRun>(directory / "pruned");
  const SilencedHeads gates(removed);
  ScoreConfig silenced{.workers = 1};
  silenced.edit = &gates;
  const auto expected = MaskedTexts(whole, kPrunedSources, {.mask_rate = 0.3}).losses(silenced);
  const auto found = MaskedTexts(pruned, kPrunedSources, {.mask_rate = 0.3}).losses({.workers = 1});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found[i].loss, expected[i].loss, 1e-5 * std::max(1.0, expected[i].loss));
  }
}

TEST(PrunedRun, OfALanguageModelIsTheSilencedOne) {
  const TemporaryDirectory directory;
  LanguageOptions options;
  options.stack = options_to_prune(PositionKind::rotary);
  options.memory = 3;
  const Tokenizer tokenizer = small_tokenizer({.size = 64});
  const LanguageModel model = make_language_model(options, tokenizer.size());
  initialise(*model, 5);
  write_run_to_prune(directory / "whole", RunKind::language, options, tokenizer, model);
  std::ofstream(directory / "whole/config.toml", std::ios::app) << "length = 40\n";
  const std::vector<HeadPlace> removed = {{AttentionPlace::decoder, 0, 1}, {AttentionPlace::decoder, 0, 2}};
  write_pruned_run(directory / "whole", "auto", removed, directory / "pruned");
  const SilencedHeads gates(removed);
  ScoreConfig silenced{.workers = 1};
  silenced.edit = &gates;
  const LanguageRun pruned = load_run_as<LanguageRun>(directory / "pruned");
  EXPECT_EQ(pruned.window, 40 + options.memory);
  expect_same_pieces(score_language(pruned, kPrunedSources, {.workers = 1}),
                     score_language(load_run_as<LanguageRun>(directory / "whole"), kPrunedSources, silenced));
}

TEST(PrunedHeads, ThatTheModelHasNotAreRefused) {
  const auto fault = [](const std::vector<std::string>& names, bool shares = false) {
    StackOptions options = options_to_prune(PositionKind::learned);
    options.block.pruned_heads = names;
    options.share_layers = shares;
    return user_error_of([&] { resolve_stack(options, StackUse::masked); });
  };
  for (const char* name : {"encoder.0", "encoder.0.3", "middle.0.1", "encoder.0.01", "encoder.-1.0", "encoder.0.1.2"}) {
    EXPECT_NE(fault({name}).find("\"" + std::string(name) + "\", expected PLACE.LAYER.HEAD"), std::string::npos)
        << name;
  }
  EXPECT_NE(fault({"encoder.0.1", "encoder.0.1"}).find("each head once"), std::string::npos);
  EXPECT_NE(fault({"encoder.2.0"}).find("has no head encoder.2.0"), std::string::npos);
  EXPECT_NE(fault({"decoder.0.0"}).find("has no head decoder.0.0"), std::string::npos);
  EXPECT_NE(fault({"encoder.1.0", "encoder.1.1", "encoder.1.2"}).find("one must stay"), std::string::npos);
  EXPECT_NE(fault({"encoder.1.0"}, /*shares=*/true).find("share-layers"), std::string::npos);
  EXPECT_EQ(fault({"encoder.1.0", "encoder.1.2"}), "");
}

}  // namespace
}  // namespace attend
