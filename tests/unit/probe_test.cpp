// Probes: gradients that reach back, the time of updates, words at a distance, and position encodings.
#include "analysis/probe.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "analysis/breakdowns.hpp"
#include "analysis/positions.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/families.hpp"
#include "tests/support/tokenizer.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

const std::vector<std::string> kLines = {"a b c d e f", "b c", "f e d c b a f e", ""};

TranslationRun untrained(const ModelConfig& config) {
  static const Tokenizer tokenizer = [] {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "a b c d e f\nf e d c b a\n";
    return tokenizer_of(text, {.type = TokenizerType::word, .size = 13});
  }();
  TranslationRun run{.options = config,
                     .tokenizers = {tokenizer, tokenizer},
                     .model = make_seq2seq(config, {.src = tokenizer.size(), .tgt = tokenizer.size()}, 3)};
  run.model->eval();
  return run;
}

TEST(Probe, ReachIsRelativeToTheDiagonalInEveryFamily) {
  for (const Family& family : families(/*dropout=*/0.1)) {
    if (family.config.scope != ScopeKind::global || family.name == "luong_location") continue;
    const std::vector<double> reach = gradient_reach(untrained(family.config), kLines, kLines, 9);
    ASSERT_EQ(reach.size(), 10u) << family.name;
    EXPECT_DOUBLE_EQ(reach[0], 1) << family.name;
    for (std::size_t d = 1; d < 8; ++d) EXPECT_GT(reach[d], 0) << family.name << " at distance " << d;
    EXPECT_TRUE(std::isnan(reach[9])) << "no sentence has positions 9 apart";
  }
}

// With a source table of its own, in which every piece of the sentence occurs once, the gradient of a row of the table
// is that of the embedding.
TEST(Probe, ReachIsTheGradientOfTheTableOfEmbeddings) {
  const TranslationRun run = untrained(families(0)[1].config);
  const Tokenizer& tokenizer = run.tokenizers.src;
  const std::vector<std::int32_t> source = tokenizer.encode("a b c"), target = tokenizer.encode("d");
  ASSERT_EQ(source.size(), 3u);
  ASSERT_EQ(target.size(), 1u);
  const SpecialIds& special = tokenizer.special();
  const Batch batch = batch_of_pairs({source}, {target}, batch_ids(run.tokenizers));
  Pass pass = Pass::inference();
  const torch::Tensor hidden_MH = run.model->forward(batch, pass);
  const torch::Tensor logits_MV = hidden_MH.mm(run.model->output_table().master().t());
  run.model->zero_grad();
  logits_MV.log_softmax(1)[1][special.eos].backward();
  const torch::Tensor gradient_VH = run.model->named_parameters()["src_embedding.weight"].grad();
  const auto norm_of = [&](std::size_t s) { return gradient_VH[source[s]].norm().item<double>(); };
  // Target position 1 of 2 (eos) is over source position 2 of 4, so that pieces 1 and 0 are at distances 1 and 2.
  const std::vector<double> reach = gradient_reach(run, {"a b c"}, {"d"}, 3);
  EXPECT_NEAR(reach[2] / reach[1], norm_of(0) / norm_of(1), 1e-4);
  EXPECT_TRUE(std::isnan(reach[3]));
}

TEST(Probe, AnUpdateTakesTimeByLengthAndThreads) {
  const std::vector<StepTime> times = step_times(untrained(families(0)[0].config), 40, {4, 8});
  ASSERT_GE(times.size(), 2u);
  EXPECT_EQ(times[0].threads, 1);
  EXPECT_EQ(times[0].length, 4);
  EXPECT_EQ(times[1].length, 8);
  for (const StepTime& time : times) EXPECT_GT(time.milliseconds, 0);
}

// A clock that the updates themselves move on: their times are known.
TEST(Probe, TimesOfUpdatesAreTheirDelays) {
  double now = 100;
  const auto update_of = [&](std::int64_t length) {
    return [&now, length, delays = std::vector<double>{900, 5, 1, 3, 2, 4}, i = std::size_t{0}]() mutable {
      now += delays.at(i++) * static_cast<double>(length) / at::get_num_threads();
    };
  };
  const int before = at::get_num_threads();
  const std::vector<StepTime> times = times_of_updates({10, 20}, update_of, [&] { return now; });
  ASSERT_EQ(times.size(), usable_processors() == 1 ? 2u : 4u);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(times[i].length, i % 2 == 0 ? 10 : 20);
    EXPECT_EQ(times[i].threads, i < 2 ? 1 : usable_processors());
    EXPECT_NEAR(times[i].milliseconds,
                3.0 * static_cast<double>(times[i].length) / static_cast<double>(times[i].threads), 1e-9)
        << "the median of all but the first";
  }
  EXPECT_EQ(at::get_num_threads(), before);
}

TEST(Probe, DistantPairsAreFoundInOrder) {
  const std::vector<std::string> reference = {"Er ruft sie an.", "Sie schl\u00e4ft."};
  const std::vector<SentenceLinks> gold = {{.sure = {{0, 0}, {1, 1}, {1, 3}, {2, 2}}, .possible = {}},
                                           {.sure = {{0, 0}, {1, 1}}, .possible = {}}};
  const Breakdown recall = recall_of_distant_pairs(
      reference, {{"er ruft an", ""}, {"An ruft er", ""}, {"er ruft ihn morgen An!", ""}, {"er ruft", ""}}, gold);
  ASSERT_EQ(recall.groups.size(), 1u);
  EXPECT_EQ(recall.groups[0].name, "2 to 3");
  EXPECT_EQ(recall.groups[0].count, 1);
  ASSERT_EQ(recall.groups[0].values.size(), 4u);
  EXPECT_EQ(recall.groups[0].values[0]->value, 100);
  EXPECT_EQ(recall.groups[0].values[1]->value, 0);
  EXPECT_EQ(recall.groups[0].values[2]->value, 100);
  EXPECT_EQ(recall.groups[0].values[3]->value, 0);
}

// Three pairs in each of 12 sentences, found together or not at all: twelve draws, not 36.
TEST(Probe, IntervalsOfDistantPairsDrawSentences) {
  const std::vector<std::string> reference(12, "a b c d e f");
  const std::vector<SentenceLinks> gold(12, {.sure = {{0, 0}, {0, 2}, {1, 1}, {1, 3}, {2, 3}, {2, 5}}, .possible = {}});
  std::vector<std::string> half(12, "a b c d e f");
  for (std::size_t i = 0; i < 6; ++i) half[i] = "";
  const Breakdown recall = recall_of_distant_pairs(reference, {half}, gold);
  ASSERT_EQ(recall.groups.size(), 1u);
  EXPECT_EQ(recall.groups[0].count, 36);
  const Estimate& found = *recall.groups[0].values[0];
  EXPECT_EQ(found.value, 50);
  EXPECT_LE(found.low, 25.1) << "36 draws would give 34 to 66";
  EXPECT_GE(found.high, 74.9);
}

TEST(Positions, SinusoidsAreAlikeByDistanceAlone) {
  const PositionEncodings positions = position_encodings("sinusoids", sinusoids(0, 20, 16));
  ASSERT_EQ(positions.similarity.size(), 20u);
  EXPECT_NEAR(positions.similarity[0], 1, 1e-6);
  double expected = 0;  // sin and cos of one frequency: cos(d / 10000^(2i / H))
  for (int i = 0; i < 8; ++i) expected += std::cos(3 / std::pow(10000, i / 8.0)) / 8;
  EXPECT_NEAR(positions.similarity[3], expected, 1e-6);
  const HeatMap map = heat_map(positions, 5, 100);
  EXPECT_EQ(map.rows, (std::vector<std::string>{"0", "4", "8", "12", "16"}));
  EXPECT_EQ(map.columns.size(), 16u);
  EXPECT_EQ(map.values.size(), 80u);
  EXPECT_LE(map.high, 1);
}

TEST(Positions, AreShownWhereTheyAreAddedToEmbeddings) {
  EXPECT_THROW(position_encodings(untrained(families(0)[2].config), "run"), UserError);
  ModelConfig config = families(0)[0].config;
  const std::vector<PositionEncodings> sinusoidal = position_encodings(untrained(config), "run");
  ASSERT_EQ(sinusoidal.size(), 1u);
  EXPECT_EQ(sinusoidal[0].encodings_TH.size(0), 128);
  config.block.positions = PositionKind::learned;
  config.max_positions = 9;
  const std::vector<PositionEncodings> learned = position_encodings(untrained(config), "run");
  ASSERT_EQ(learned.size(), 2u);
  EXPECT_EQ(learned[0].kind, "learnt, source");
  EXPECT_EQ(learned[1].encodings_TH.sizes(), at::IntArrayRef({9, 12}));
  config.max_positions = {};
  for (const PositionKind kind : {PositionKind::none, PositionKind::relative, PositionKind::rotary}) {
    config.block.positions = kind;
    config.block.heads = 2;
    const std::string error = user_error_of([&] { position_encodings(untrained(config), "run"); });
    EXPECT_NE(error.find("--positions " + std::string(name_of(kind))), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace attend
