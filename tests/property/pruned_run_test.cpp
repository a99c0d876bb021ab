// A pruned run computes the same as the whole one with the same heads silenced, whatever its attention; it can be
// pruned again.
#include "models/run/new_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "analysis/silencing.hpp"
#include "core/files.hpp"
#include "eval/language_score.hpp"
#include "eval/score.hpp"
#include "models/attention/edits.hpp"
#include "models/layers/layers.hpp"
#include "models/run/run.hpp"
#include "tests/support/families.hpp"
#include "tests/support/small_run.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

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
    return score(scored, unlabelled(kPrunedSources), kPrunedTargets, how);
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
