// What surrounds the updates of a training: phases, rates, logs, batches made ahead, and what auto becomes.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numbers>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "data/batch/batch_stream.hpp"
#include "data/batch/sources.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/point_task.hpp"
#include "tests/support/temporary.hpp"
#include "train/event_log.hpp"
#include "train/pretraining/config.hpp"
#include "train/schedule.hpp"
#include "train/translation/config.hpp"
#include "train/usual_schedule.hpp"

namespace attend {
namespace {

TEST(Phases, AreLengthsWithShares) {
  const auto phases = parse_phases({"128:90%", "512@8192:10%"}, "--phase", 4096);
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].length, 128);
  EXPECT_EQ(phases[0].max_tokens, 4096);
  EXPECT_DOUBLE_EQ(phases[0].end, 0.9);
  EXPECT_EQ(phases[1].length, 512);
  EXPECT_EQ(phases[1].max_tokens, 8192);
  EXPECT_DOUBLE_EQ(phases[1].end, 1);
}

TEST(Phases, HaveTheirOwnMaskRateIfGiven) {
  const auto phases = parse_phases({"128@1024:50%:0.3", "128:50%"}, "--phase", 4096);
  EXPECT_EQ(phases[0].mask_rate, 0.3);
  EXPECT_EQ(phases[0].max_tokens, 1024);
  EXPECT_DOUBLE_EQ(phases[0].end, 0.5);
  EXPECT_FALSE(phases[1].mask_rate);
}

TEST(Phases, ShortOnesFirstAreShorterThanTheRest) {
  const auto phases = short_first(0.2, 128, 4096);
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0].length, 16);
  EXPECT_DOUBLE_EQ(phases[0].end, 0.15);
  EXPECT_FALSE(phases[0].pairs);
  EXPECT_EQ(phases[1].length, 32);
  EXPECT_DOUBLE_EQ(phases[1].end, 0.2);
  EXPECT_FALSE(phases[1].pairs);
  EXPECT_EQ(phases[2].length, 128);
  EXPECT_DOUBLE_EQ(phases[2].end, 1);
  EXPECT_TRUE(phases[2].pairs);
  EXPECT_EQ(short_first(0.2, 32, 4096).size(), 2u);
  EXPECT_EQ(short_first(0.2, 16, 4096).size(), 1u);
  const auto without = short_first(0, 128, 4096);
  ASSERT_EQ(without.size(), 1u);
  EXPECT_EQ(without[0].length, 128);
  EXPECT_EQ(without[0].max_tokens, 4096);
}

TEST(Phases, WhatIsNoneIsRefused) {
  for (const char* text :
       {"",          "128",          "128:",        "128:%",        "128:90",   "x:100%",    "128@:100%", "128@99:100%",
        "128:0%",    "7:100%",       "128:99%",     "128:101%",     "128:nan%", "-128:100%", "128 :100%", "8192:100%",
        "128:100%:", "128:100%:1.5", "128:100%0.3", "128:100%:nan", "%128:100"}) {
    EXPECT_THROW(parse_phases({text}, "--phase", 4096), UserError) << text;
  }
}

// Each schedule against its closed form.

ScheduleConfig make(ScheduleKind kind, std::int64_t warmup, std::optional<double> decay_last = {}) {
  return {.schedule = kind, .learning_rate = 2.0, .warmup_steps = warmup, .decay_last = decay_last};
}

TEST(Schedule, WarmsUpLinearlyToThePeak) {
  for (const auto& [kind, name] : kEnumNames<ScheduleKind>) {
    const ScheduleConfig config = make(kind, 10);
    EXPECT_DOUBLE_EQ(learning_rate_at(config, 1, 100), 0.2) << name;
    EXPECT_DOUBLE_EQ(learning_rate_at(config, 5, 100), 1.0) << name;
    EXPECT_DOUBLE_EQ(learning_rate_at(config, 10, 100), 2.0) << name;
  }
}

TEST(Schedule, FallsAsItsNameSays) {
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::constant, 10), 90, 100), 2.0);
  ScheduleConfig by_clock = make(ScheduleKind::constant, 10);
  by_clock.end = ScheduleEnd::max_time;
  EXPECT_DOUBLE_EQ(learning_rate_at(by_clock, 5, 50), 2.0);  // the warm-up is a tenth at most
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::inverse_sqrt, 10), 40, 100), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::inverse_sqrt, 0), 4, 100), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::linear, 11), 56, 100), 2.0 * 45 / 90);
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::linear, 11), 100, 100), 2.0 / 90);
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::cosine, 11), 71, 100), 1 - std::cos(std::numbers::pi * 30 / 90));
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::linear, 0), 1, 100), 2.0);
}

// Luong et al. 2015, 4.1: ten epochs, here of ten updates.
TEST(Schedule, HalvesEveryEpochAfterFive) {
  const ScheduleConfig luong = make(ScheduleKind::halving, 0);
  for (std::int64_t step = 1; step <= 100; ++step) {
    const std::int64_t epoch = (step - 1) / 10;
    const double expected = 2.0 * std::exp2(epoch < 5 ? 0 : 4 - epoch);
    EXPECT_DOUBLE_EQ(learning_rate_at(luong, step, 100), expected) << step;
  }
  ScheduleConfig sooner = make(ScheduleKind::halving, 0);  // 15 updates: halved after 3 and then every 4.5
  sooner.halve_after = 0.2;
  sooner.halve_every = 0.3;
  const std::vector<double> rates = {2, 2, 2, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    EXPECT_DOUBLE_EQ(learning_rate_at(sooner, static_cast<std::int64_t>(i) + 1, 15), rates[i]) << i;
  }
}

TEST(Schedule, IsStableAndThenDecaysByARoot) {
  const ScheduleConfig wsd = make(ScheduleKind::wsd, 10);
  EXPECT_DOUBLE_EQ(learning_rate_at(wsd, 11, 100), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(wsd, 80, 100), 2.0);
  EXPECT_NEAR(learning_rate_at(wsd, 90, 100), 2 * 0.309934, 1e-6);
  EXPECT_NEAR(learning_rate_at(wsd, 100, 100), 2 * (1 - std::sqrt(20.0 / 21)), 1e-12);
  EXPECT_NEAR(learning_rate_at(make(ScheduleKind::wsd, 10, 0.5), 51, 100), 2 * (1 - std::sqrt(1.0 / 51)), 1e-12);
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::wsd, 10, 0), 100, 100), 2.0);
}

TEST(Schedule, LastShareGoesLinearlyToZero) {
  const ScheduleConfig config = make(ScheduleKind::constant, 10, 0.3);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 70, 100), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 71, 100), 2.0 * 30 / 31);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 100, 100), 2.0 / 31);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 101, 100), 0);
}

// The log of a training, of which no line is lost or doubled when the training is killed.

// The events of a log, without what depends on the clock.
std::vector<nlohmann::json> events(const std::filesystem::path& run) {
  std::vector<nlohmann::json> result;
  std::ifstream lines(run / "train.jsonl");
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json& event = result.emplace_back(nlohmann::json::parse(line));
    for (const char* key : {"time", "seconds", "tokens_per_second", "memory_mb"}) event.erase(key);
  }
  return result;
}

TEST(EventLog, OfAKilledRunIsThatOfOneThatNeverStopped) {
  const TemporaryDirectory whole, killed;
  const TrainerConfig config{.max_steps = 12, .log_every = 4};
  PointSession(whole.path(), config).trainer->train();
  EXPECT_EQ(events(whole.path()).size(), 3 + 4 + 4);  // train at 4, 8 and 12; valid and save at 3, 6, 9 and 12
  // Killed after update 12 in the middle of a line, before step-12 was whole. The line of update 12 averages four.
  PointSession(killed.path(), config).trainer->train();
  std::filesystem::remove_all(checkpoint_path(killed.path(), 12));
  std::ofstream(killed / "train.jsonl", std::ios::app) << "{\"event\": \"tr";
  PointSession resumed(killed.path(), config);
  resumed.trainer->restore(*Checkpoint::newest(killed.path()));
  resumed.trainer->train();
  EXPECT_EQ(events(killed.path()), events(whole.path()));
}

TEST(EventLog, IsCutAtTheCheckpoint) {
  const std::string train_3 = R"({"event":"train","step":3})"
                              "\n",
                    save_3 = R"({"event":"save","step":3})"
                             "\n",
                    valid_3 = R"({"event":"valid","step":3})"
                              "\n",
                    train_4 = R"({"event":"train","step":4})"
                              "\n";
  const auto kept = [](const std::string& before, std::int64_t saved) {
    const TemporaryDirectory run;
    std::ofstream(run / "train.jsonl") << before;
    EventLog log(run.path(), saved);
    std::string names;
    for (const nlohmann::json& event : events(run.path())) {
      names += event["event"].get<std::string>() + event["step"].dump() + " ";
    }
    return names;
  };
  EXPECT_EQ(kept(train_3 + save_3 + train_4, 3), "train3 save3 ");
  EXPECT_EQ(kept(train_3 + save_3 + valid_3, 3), "train3 save3 ");  // validated after the checkpoint: due again
  EXPECT_EQ(kept(train_3, 3), "train3 save3 ");                     // killed before the line was written
  EXPECT_EQ(kept(train_3 + train_4, 3), "train3 save3 ");
  EXPECT_EQ(kept(train_3 + "{\"event\": \"sa", 3), "train3 save3 ");
  EXPECT_EQ(kept(train_3 + save_3, -1), "");  // no checkpoint: the run starts over
  EXPECT_EQ(kept("", 0), "save0 ");
  EXPECT_EQ(kept("[1]\n", 3), "save3 ");
}

TEST(TensorBoard, Crc32cOfTheStandardsExamples) {  // RFC 3720, B.4
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST(TensorBoard, RecordsFollowEachOther) {
  const TemporaryDirectory directory;
  {
    TensorBoardWriter writer(directory.path(), 40);
    writer.scalar("train/loss", 50, 1.5);
  }
  const auto file = std::filesystem::directory_iterator(directory.path())->path();
  const std::string bytes = read_file(file);
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    messages.push_back(bytes.substr(at + 12, length));
    at += length + 16;
  }
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_NE(messages[0].find("brain.Event:2"), std::string::npos);
  EXPECT_NE(messages[2].find("train/loss"), std::string::npos);
  // The value is the last field of the last message.
  float value = 0;
  std::memcpy(&value, messages[2].data() + messages[2].size() - sizeof value, sizeof value);
  EXPECT_EQ(value, 1.5F);
}

// Batches hold the right ids, and the stream goes on from any position as if it had never stopped.

std::vector<std::int64_t> values(const torch::Tensor& tensor) {
  return {tensor.data_ptr<std::int64_t>(), tensor.data_ptr<std::int64_t>() + tensor.numel()};
}

class BatchStreamTest : public TestWithFiles {
 protected:
  // Line n is n mod 9 + 1 words on one side and n mod 7 + 1 on the other.
  static std::string lines(int period, const std::string& word) {
    std::string text;
    for (int n = 0; n < 200; ++n) {
      for (int k = 0; k <= n % period; ++k) text += word + " ";
      text += "\n";
    }
    return text;
  }

  Tokenizer tokenizer_ = train_tokenizer({write("text", "a b c\n")}, {.type = TokenizerType::word});
  EncodedCorpus corpus_ = EncodedCorpus::open(
      {write("src", lines(9, "a")), write("tgt", lines(7, "b")), tokenizer_, tokenizer_}, {}, directory_ / "cache");
  BatchOrder order_{corpus_, {.max_tokens = 50}, 3};
  BatchIds ids_{.src_eos = 3, .tgt_bos = 2, .tgt_eos = 3};

  BatchStream<Batch> stream_from(DataPosition start) const {
    return BatchStream<Batch>(ParallelBatches(corpus_, order_, ids_), start);
  }
};

TEST_F(BatchStreamTest, MakesRaggedBatches) {
  const std::int64_t a = tokenizer_.id_of("▁a");
  const std::int64_t b = tokenizer_.id_of("▁b");
  const std::vector<std::uint32_t> examples = {2, 0, 8};
  const Batch batch = make_batch(corpus_, examples, ids_);
  EXPECT_EQ(values(batch.src.ids_M), (std::vector<std::int64_t>{a, a, a, 3, a, 3, a, a, a, a, a, a, a, a, a, 3}));
  EXPECT_EQ(batch.src.layout.offsets, (std::vector<std::int64_t>{0, 4, 6, 16}));
  EXPECT_EQ(batch.src.layout.max_length, 10);
  EXPECT_EQ(values(batch.tgt.ids_M), (std::vector<std::int64_t>{2, b, b, b, 2, b, 2, b, b}));
  EXPECT_EQ(values(batch.labels_M), (std::vector<std::int64_t>{b, b, b, 3, b, 3, b, b, 3}));
  EXPECT_EQ(batch.tgt.layout.offsets, (std::vector<std::int64_t>{0, 4, 6, 9}));
  EXPECT_EQ(batch.tgt.layout.max_length, 4);
  EXPECT_EQ(batch.examples, (std::vector<std::int64_t>{2, 0, 8}));
}

TEST_F(BatchStreamTest, GoesOnFromAnyPosition) {
  std::vector<StreamedBatch<Batch>> stream;
  const std::int64_t size = order_.epoch(0).size();
  ASSERT_GT(size, 10);
  BatchStream<Batch> loader = stream_from({});
  for (std::int64_t n = 0; n < size + 5; ++n) stream.push_back(loader.next());
  EXPECT_EQ(stream[0].position, (DataPosition{0, 0}));
  EXPECT_EQ(stream[size - 1].after, (DataPosition{1, 0}));
  EXPECT_EQ(stream[size].position, (DataPosition{1, 0}));
  for (std::size_t start : {0u, 1u, 7u, static_cast<unsigned>(size - 1)}) {
    BatchStream<Batch> resumed = stream_from(stream[start].after);
    for (std::size_t n = start + 1; n < stream.size(); ++n) {
      const StreamedBatch<Batch> batch = resumed.next();
      EXPECT_EQ(batch.position, stream[n].position);
      EXPECT_EQ(batch.batch.examples, stream[n].batch.examples);
      EXPECT_EQ(values(batch.batch.labels_M), values(stream[n].batch.labels_M));
    }
  }
  EXPECT_EQ(stream_from({0, size}).next().position, (DataPosition{1, 0}));
}

TEST_F(BatchStreamTest, EndsWhereverItIs) {
  for (int round = 0; round < 20; ++round) {
    BatchStream<Batch> loader = stream_from({});
    for (int n = 0; n < round % 3; ++n) EXPECT_EQ(loader.next().position, (DataPosition{0, n}));
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// A source whose second batch cannot be made.
struct DamagedSource {
  static std::int64_t begin_epoch(std::int64_t /*epoch*/) { return 3; }
  static Batch batch(std::int64_t number) {
    if (number == 1) throw UserError("damaged");
    return {};
  }
};

TEST(BatchStream, HandsOverWhatWentWrong) {
  BatchStream<Batch> stream(DamagedSource(), {});
  EXPECT_EQ(stream.next().position, (DataPosition{0, 0}));
  EXPECT_THROW(stream.next(), UserError);
  EXPECT_THROW(stream.next(), UserError);
}

// What "auto" becomes.

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
  TranslationConfig guided, related, headed;
  guided.guided = {.links = "links", .layer = 4};
  related.relations = {.trees = "trees", .layer = 4};
  headed.relations = {.trees = "trees", .head = 4};
  for (TranslationConfig* config : {&guided, &related, &headed}) {
    config->train = {"train.src", "train.tgt"};
    EXPECT_NO_THROW(config->refuse_contradictions({}));
    EXPECT_NO_THROW(resolved(ModelKind::transformer, 5'000'000, *config).check_sizes(option_place));
    EXPECT_THROW(resolved(ModelKind::transformer, 1000, *config).check_sizes(option_place), UserError);
  }
  guided.model.decoder_layers = 4;
  EXPECT_THROW(guided.refuse_contradictions({}), UserError);
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
          usual_of_translation(config.trainer, batches_per_epoch, *config.model.width));
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

TEST(Defaults, WarmUpIsAFractionOfTheUsualUpdates) {
  const auto warmup = [](std::int64_t epoch) {
    TranslationConfig config;
    config.model.width = 256;
    resolve_training(config, epoch);
    return *config.schedule.warmup_steps;
  };
  EXPECT_EQ(warmup(10), 200);  // the least
  EXPECT_EQ(warmup(100), 375);
  EXPECT_EQ(warmup(100'000), 4000);
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
