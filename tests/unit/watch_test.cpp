// The watch on depth: its numbers where the answer is known, in every family of models, and in a training, whose
// results it does not change.
#include "train/watch.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/layers.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/families.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/parity.hpp"
#include "tests/support/sentences.hpp"
#include "tests/support/temporary.hpp"
#include "train/optimiser.hpp"
#include "train/pretraining/objective.hpp"
#include "train/trainer.hpp"
#include "train/translation/objective.hpp"

namespace attend {
namespace {

using MetricValues = std::map<std::string, double>;

MetricValues numbers_of(const Watch& watch) {
  MetricValues numbers;
  for (const auto& [name, value] : watch.values()) {
    EXPECT_TRUE(numbers.emplace(name, value).second) << name << " is there twice";
  }
  return numbers;
}

TEST(Watch, DistanceFromRankOneIsAMeanOverSentences) {
  // Equal tokens; tokens without a mean; tokens with the rest [0 1], [0 -1].
  const torch::Tensor x =
      torch::tensor({{1.0, 2.0}, {1.0, 2.0}, {1.0, 2.0}, {3.0, 0.0}, {-3.0, 0.0}, {2.0, 1.0}, {2.0, -1.0}});
  EXPECT_NEAR(rank_one_distance(x, layout_of({3, 2, 2})).item<double>(), (0 + 1 + std::sqrt(2.0 / 10)) / 3, 1e-9);
  EXPECT_NEAR(rank_one_distance(x.narrow(0, 0, 3), layout_of({3})).item<double>(), 0, 1e-9);
}

TEST(Watch, EffectiveRankIsThatOfTheSingularValues) {
  const auto rank = [](const torch::Tensor& matrix) { return effective_rank(matrix).item<double>(); };
  EXPECT_NEAR(rank(torch::eye(5)), 5, 1e-6);
  EXPECT_NEAR(rank(torch::diag(torch::tensor({2.0, 0.0, 2.0}))), 2, 1e-6);
  EXPECT_NEAR(rank(torch::arange(1, 8).unsqueeze(1) * torch::arange(1, 4).unsqueeze(0)), 1, 1e-6);
  const double entropy = -0.75 * std::log(0.75) - 0.25 * std::log(0.25);
  const torch::Tensor wide = torch::tensor({{3.0, 0.0, 0.0}, {0.0, 0.0, 1.0}});
  EXPECT_NEAR(rank(wide), std::exp(entropy), 1e-6);
  EXPECT_NEAR(rank(wide.t()), std::exp(entropy), 1e-6);
  EXPECT_EQ(rank(torch::zeros({2, 3})), 0);
}

TEST(Watch, ReadsFewSentences) {
  EXPECT_EQ(num_watched(layout_of({5, 7})), 2);
  EXPECT_EQ(num_watched(layout_of(std::vector<std::int64_t>(40, 3))), 16);
  EXPECT_EQ(num_watched(layout_of({1000, 24, 1})), 2);
  EXPECT_EQ(num_watched(layout_of({5000, 2})), 1);
}

// One sentence of one target and four source tokens in a padded block of two queries.
TEST(Watch, MeansAreOverTokens) {
  Watch watch(*Linear(LinearConfig{.in = 1, .out = 1}));
  watch.pass(layout_of({4}), layout_of({1}));
  torch::Tensor weights_BNTS = torch::zeros({1, 2, 2, 4});
  weights_BNTS[0][0][0].fill_(0.25);
  weights_BNTS[0][1][0][3] = 1;
  watch.on_attention(AttentionPlace::cross, 1, weights_BNTS);
  watch.on_sub_layer(AttentionPlace::decoder, 2, "cross_attention", torch::tensor({{3.0, 4.0}}),
                     torch::tensor({{0.0, 10.0}}));
  watch.on_hidden(AttentionPlace::encoder, 0, torch::tensor({{3.0, 4.0}, {0.0, 1.0}, {0.0, 1.0}, {0.0, 1.0}}));
  const MetricValues numbers = numbers_of(watch);
  EXPECT_NEAR(numbers.at("entropy/cross.1.0"), std::log(4.0), 1e-9);
  EXPECT_NEAR(numbers.at("entropy/cross.1.1"), 0, 1e-9);
  EXPECT_NEAR(numbers.at("cross_attention/decoder.2"), 2, 1e-9);
  EXPECT_NEAR(numbers.at("hidden/encoder.0"), 2, 1e-9);
}

// An update by plain gradient descent at the rate 0.01 of a model of a family, watched.
struct WatchedStep {
  explicit WatchedStep(const ModelConfig& config)
      : model(make_seq2seq(config, {.src = kVocabulary, .tgt = kVocabulary}, 3)) {
    model->to(test_device());
    const TranslationObjective objective(model, {}, config.attention == ChoiceKind::hard);
    const Batch batch = some_batch();
    Pass pass = Pass::train(1);
    objective.losses(batch, pass)[0].loss.backward();
    Optimiser optimiser(*model, {.optimiser = OptimiserKind::sgd, .clip_norm = 0});
    norm = optimiser.gradient_norm().item<double>();
    Watch watch(*model);
    for (const auto& named : model->named_parameters()) {
      if (named.key().starts_with("encoder.layers.1.")) squares += named.value().square().sum().item<double>();
    }
    optimiser.step(0.01, norm);
    refresh_weights(*model);
    watch.update_made();
    const torch::NoGradGuard no_grad;
    objective.show(batch, watch);
    numbers = numbers_of(watch);
  }
  Seq2Seq model;
  double norm = 0;
  double squares = 0;  // of the weights of a Transformer's second encoder layer, before the update
  MetricValues numbers;
};

class WatchOf : public testing::TestWithParam<Family> {};

TEST_P(WatchOf, HasFiniteNumbersForEveryLayerAndPlace) {
  const ModelConfig& config = GetParam().config;
  const WatchedStep step(config);
  double squares = 0;
  for (const auto& [name, value] : step.numbers) {
    const bool may_be_of_zeros = name.starts_with("update/");  // outside layers; those of layers are checked below
    EXPECT_TRUE(may_be_of_zeros || std::isfinite(value)) << name;
    if (name.starts_with("gradient/")) squares += value * value;
  }
  EXPECT_NEAR(std::sqrt(squares), step.norm, 1e-4 * step.norm) << "each parameter belongs to one layer or module";
  const bool transformer = config.model == ModelKind::transformer;
  const auto expect = [&](const std::string& name, double least, double most) {
    const auto found = step.numbers.find(name);
    ASSERT_NE(found, step.numbers.end()) << name;
    EXPECT_GE(found->second, least) << name;
    EXPECT_LE(found->second, most) << name;
  };
  for (const auto& [place, layers] :
       {std::pair("encoder", *config.encoder_layers), {"decoder", *config.decoder_layers}}) {
    for (std::int64_t layer = 0; layer <= layers; ++layer) {
      const std::string at = std::string(place) + "." + std::to_string(layer);
      expect("hidden/" + at, 1e-6, 1e6);
      expect("rank_one/" + at, config.block.residual ? 1e-6 : 0, 1);
      if (layer == layers) break;
      expect("gradient/" + at, 1e-12, 1e6);
      expect("update/" + at, 1e-12, 1e6);
      for (const char* rank : {"weight_rank/", "update_rank/"}) expect(rank + at, 1, 64);
      if (!transformer) continue;
      expect("self_attention/" + at, 1e-6, 1e6);
      if (config.block.feed_forward != 0) expect("feed_forward/" + at, 1e-6, 1e6);
      const bool crosses = std::string(place) == "decoder";
      if (crosses) expect("cross_attention/" + at, 1e-6, 1e6);
      for (std::int64_t head = 0; head < *config.block.heads; ++head) {
        const std::string of_head = "." + std::to_string(head);
        const bool weighs = crosses || config.block.self_attention != SelfAttentionKind::fourier;
        if (weighs) expect("entropy/" + at + of_head, 0, std::log(7.0));
        if (crosses) expect("entropy/cross." + std::to_string(layer) + of_head, 0, std::log(7.0));
      }
    }
  }
  if (!transformer && config.model != ModelKind::fixed) expect("entropy/cross.0.0", 0, std::log(7.0));
  if (!transformer) return;
  EXPECT_NEAR(step.numbers.at("update/encoder.1"),
              0.01 * step.numbers.at("gradient/encoder.1") / std::sqrt(step.squares),
              1e-4 * step.numbers.at("update/encoder.1"));
}

INSTANTIATE_TEST_SUITE_P(Families, WatchOf, testing::ValuesIn(families(/*dropout=*/0.1)),
                         [](const auto& instance) { return instance.param.name; });

TEST(Watch, ReadsAllTokensOfABert) {
  StackOptions options;
  options.layers = 2;
  options.width = 24;
  const BertForPretraining model(options, /*vocabulary=*/30);
  initialise(*model, 1);
  PretrainingBatch batch;
  batch.input = {.tokens = sequences(torch::arange(9) * 3, torch::tensor({3, 4, 2})),
                 .segments_M = torch::zeros({9}, torch::kLong)};
  batch.masked = {1};
  const torch::NoGradGuard no_grad;
  Watch watch(*model);
  watch.update_made();
  PretrainingObjective(model).show(batch, watch);
  const MetricValues numbers = numbers_of(watch);
  for (const char* name : {"update/encoder.1", "weight_rank/encoder.0", "hidden/encoder.2", "rank_one/encoder.2",
                           "feed_forward/encoder.1", "entropy/encoder.1.0"}) {
    ASSERT_TRUE(numbers.contains(name)) << name;
    EXPECT_TRUE(std::isfinite(numbers.at(name))) << name;
  }
  EXPECT_EQ(numbers.at("update/encoder.1"), 0);
}

// ---- in a training

class PairBatches {
 public:
  std::int64_t begin_epoch(std::int64_t) { return 4; }
  Batch batch(std::int64_t number) const {
    const auto seed = static_cast<std::uint64_t>(number);
    return make_batch(random_sentences(kSourceLengths, 2 * seed), random_sentences(kTargetLengths, 2 * seed + 1));
  }
};

class PairTask : public StreamTask<Batch> {
 public:
  explicit PairTask(Seq2Seq model)
      : StreamTask(std::make_unique<TranslationObjective>(model, ObjectiveConfig{}, /*samples=*/false),
                   TensorMetadata{}, torch::kCPU),
        model_(std::move(model)) {}
  ~PairTask() override { stop(); }
  torch::nn::Module& model() override { return *model_; }
  MicroBatch largest() override { return micro_batch(PairBatches().batch(0)); }
  std::int64_t batches_per_epoch() const override { return 4; }
  std::vector<std::string> metrics() const override { return {}; }
  std::vector<ValidationMetric> validate(const std::filesystem::path&, std::int64_t, Ranks&) override { return {}; }

 private:
  std::unique_ptr<BatchStream<Batch>> stream_from(DataPosition position, Shard shard) override {
    return std::make_unique<BatchStream<Batch>>(PairBatches(), position, shard);
  }
  std::int64_t tokens_of(const Batch& batch) const override { return batch.num_labels(); }
  std::vector<std::int64_t> lines_of(const Batch&) const override { return {}; }
  Seq2Seq model_;
};

struct Trained {
  std::vector<nlohmann::json> updates, watched;
  std::vector<torch::Tensor> weights;
};

Trained trained(const ModelConfig& model_config, std::int64_t watch, const std::filesystem::path& run) {
  PairTask task(make_seq2seq(model_config, {.src = kVocabulary, .tgt = kVocabulary}, 3));
  Optimiser optimiser(task.model(), {});
  const TrainerConfig config{
      .accumulate = 2, .max_steps = 7, .valid_every = 100, .save_every = 100, .log_every = 1, .watch = watch};
  const ScheduleConfig schedule{.schedule = ScheduleKind::constant, .learning_rate = 0.01, .warmup_steps = 0};
  Ranks alone;
  Trainer(task, optimiser, config, schedule, run, alone).train();
  Trained result;
  std::ifstream lines(run / "train.jsonl");
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json event = nlohmann::json::parse(line);
    for (const char* key : {"time", "seconds", "tokens_per_second", "memory_mb"}) event.erase(key);
    if (event["event"] == "train") result.updates.push_back(event);
    if (event["event"] == "watch") result.watched.push_back(event);
  }
  for (const auto& parameter : task.model().parameters()) result.weights.push_back(parameter.detach());
  return result;
}

class WatchedTraining : public testing::TestWithParam<Family> {};

TEST_P(WatchedTraining, IsTheSameBitForBit) {
  const TemporaryDirectory with, without;
  const Trained watched = trained(GetParam().config, 3, with.path()),
                plain = trained(GetParam().config, 0, without.path());
  ASSERT_EQ(plain.updates.size(), 7U);
  EXPECT_EQ(watched.updates, plain.updates);
  for (std::size_t i = 0; i < plain.weights.size(); ++i) EXPECT_TRUE(at::equal(watched.weights[i], plain.weights[i]));
  EXPECT_TRUE(plain.watched.empty());
  ASSERT_EQ(watched.watched.size(), 2U);
  EXPECT_EQ(watched.watched[0]["step"], 3);
  EXPECT_EQ(watched.watched[1]["step"], 6);
  EXPECT_TRUE(watched.watched[1]["gradient/encoder.0"].is_number());
  std::string tensorboard;
  for (const auto& entry : std::filesystem::directory_iterator(with.path())) {
    if (entry.path().filename().string().starts_with("events.out")) tensorboard += read_file(entry.path());
  }
  EXPECT_NE(tensorboard.find("watch/rank_one/decoder.1"), std::string::npos);
}

// A Transformer, one whose norms change with what they read, and recurrent models.
std::vector<Family> watched_families() {
  std::vector<Family> all = families(/*dropout=*/0.1);
  std::erase_if(all, [](const Family& family) {
    return family.name != "transformer_post" && family.name != "transformer_elu1" && family.name != "luong" &&
           family.name != "fixed";
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Families, WatchedTraining, testing::ValuesIn(watched_families()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace attend
