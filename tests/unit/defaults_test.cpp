// What "auto" becomes.
#include "train/translation/config.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "train/usual_schedule.hpp"

namespace attend {
namespace {

TranslationConfig resolved(ModelKind kind, std::uint64_t target_tokens, TranslationConfig config = {}) {
  config.model.model = kind;
  resolve_sizes(config, target_tokens);
  return config;
}

TEST(Defaults, SizesFollowTheData) {
  const TranslationConfig tiny = resolved(ModelKind::transformer, 200'000);
  const TranslationConfig small = resolved(ModelKind::transformer, 4'999'999);
  const TranslationConfig large = resolved(ModelKind::transformer, 5'000'000);
  EXPECT_EQ(tiny.batches.max_tokens, 2048);
  EXPECT_EQ(small.batches.max_tokens, 4096);
  EXPECT_EQ(small.model.width, 256);
  EXPECT_EQ(small.model.encoder_layers, 3);
  EXPECT_EQ(small.model.dropout, 0.3);
  EXPECT_EQ(large.model.width, 512);
  EXPECT_EQ(large.model.decoder_layers, 6);
  EXPECT_EQ(large.model.dropout, 0.1);
  EXPECT_EQ(resolved(ModelKind::luong, 4'000'000).model.encoder_layers, 1);
  EXPECT_EQ(resolved(ModelKind::luong, 6'000'000).model.decoder_layers, 2);
}

TEST(Defaults, ATransformerOfAKnownWidthHasNoAuto) {
  TranslationConfig transformer = resolved(ModelKind::transformer, 100), luong = resolved(ModelKind::luong, 100);
  for (TranslationConfig* config : {&transformer, &luong}) resolve_transformer(config->model);
  EXPECT_EQ(transformer.model.block.heads, 4);
  EXPECT_EQ(transformer.model.block.feed_forward, 1024);
  EXPECT_EQ(transformer.model.score, ScoreKind::scaled_dot);
  EXPECT_FALSE(luong.model.block.heads);
}

// What fits large texts is refused once a small one has chosen the sizes.
TEST(Defaults, ChecksOfSizesWaitForTheText) {
  TranslationConfig guided, related, headed, factored;
  guided.guided = {.links = "links", .layer = 4};
  related.relations = {.trees = "trees", .layer = 4};
  headed.relations = {.trees = "trees", .head = 4};
  factored.factors.source_factors = {"tags"};
  factored.model.factor_combine = FactorCombination::concat;
  factored.model.factor_width = 256;
  factored.model.tie_embeddings = false;
  for (TranslationConfig* config : {&guided, &related, &headed, &factored}) {
    config->train = {"train.src", "train.tgt"};
    EXPECT_NO_THROW(config->refuse_contradictions({}));
    EXPECT_NO_THROW(resolved(ModelKind::transformer, 5'000'000, *config).check_sizes(option_place));
    EXPECT_THROW(resolved(ModelKind::transformer, 1000, *config).check_sizes(option_place), UserError);
  }
  guided.model.decoder_layers = 4;
  EXPECT_THROW(guided.refuse_contradictions({}), UserError);
  factored.model.width = 256;
  EXPECT_THROW(factored.refuse_contradictions({}), UserError);
}

TEST(Defaults, WhatIsGivenStays) {
  TranslationConfig given;
  given.model.width = 96;
  given.model.decoder_layers = 4;
  given.model.dropout = 0;
  given.batches.max_tokens = 777;
  const TranslationConfig config = resolved(ModelKind::transformer, 100, given);
  EXPECT_EQ(config.model.width, 96);
  EXPECT_EQ(config.model.encoder_layers, 3);
  EXPECT_EQ(config.model.decoder_layers, 4);
  EXPECT_EQ(config.model.dropout, 0);
  EXPECT_EQ(config.batches.max_tokens, 777);
}

void resolve_training(TranslationConfig& config, std::int64_t batches_per_epoch) {
  resolve(config.trainer, config.schedule,
          usual_of_translation(config.trainer, batches_per_epoch, config.model.model == ModelKind::transformer,
                               *config.model.width));
}

TEST(Defaults, WiderModelsAndLongerTrainingsTakeSmallerSteps) {
  const auto rate = [](std::int64_t width, std::int64_t epoch) {
    TranslationConfig config;
    config.model.width = width;
    resolve_training(config, epoch);
    return *config.schedule.learning_rate;
  };
  EXPECT_NEAR(rate(256, 100), 3e-3 * std::pow(1160.0 / 3000, 0.25), 1e-9);  // thirty epochs of 100 updates
  EXPECT_DOUBLE_EQ(rate(1024, 100), rate(256, 100) / 2);
  EXPECT_EQ(rate(64, 10), 3e-3);
  EXPECT_NEAR(rate(512, 100'000), 7e-4, 1e-5);
}

// A run that is prolonged is the run that was longer from the start.
TEST(Defaults, NothingFollowsALimitThatMayBeRaised) {
  TranslationConfig shorter, longer;
  for (TranslationConfig* config : {&shorter, &longer}) config->model.width = 64;
  shorter.trainer.max_steps = 10;
  longer.trainer.max_steps = 1000;
  resolve_training(shorter, 50);
  resolve_training(longer, 50);
  EXPECT_EQ(shorter.schedule.warmup_steps, longer.schedule.warmup_steps);
  EXPECT_EQ(shorter.trainer.valid_every, longer.trainer.valid_every);
}

// Some epochs have more batches than others, and updates more than before once a run is resumed.
TEST(Defaults, EpochsAreNotTurnedIntoUpdates) {
  TranslationConfig config;
  config.model.width = 64;
  config.trainer.max_epochs = 3;
  resolve_training(config, 50);
  EXPECT_FALSE(config.trainer.max_steps);
}

}  // namespace
}  // namespace attend
