// Runs as they are read for a comparison, and how they become systems.
#include "analysis/systems.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analysis/trained_run.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "models/layers/weights_io.hpp"
#include "tests/support/small_run.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

ModelConfig compared_model(ModelKind kind) {
  ModelConfig config;
  config.model = kind;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 8;
  if (kind == ModelKind::transformer) config.heads = 2, config.feed_forward = 16;
  config.dropout = 0;
  return config;
}

const std::map<std::string, std::string> kRecordedInputs = {{"the text to learn from", "11111111aaaa"},
                                                            {"the text to validate on", "22222222bbbb"}};

TrainedRun trained_run(ModelKind kind, const std::string& path, std::int64_t seed = 1) {
  TrainedRun run{.run = small_run(compared_model(kind), 1)};
  run.facts = {.path = path, .seed = seed, .checkpoint = "auto", .started = {}, .attend = {}};
  run.config.model = run.run.config;
  run.config.trainer.seed = seed;
  run.inputs = kRecordedInputs;
  run.updates = 1000;
  run.tokens = 50000;
  return run;
}

template <class... Runs>
std::vector<TrainedRun> runs_of(Runs&&... runs) {
  std::vector<TrainedRun> list;
  (list.push_back(std::forward<Runs>(runs)), ...);
  return list;
}

using Numbers = std::vector<std::size_t>;
constexpr ModelKind kLuong = ModelKind::luong, kTransformer = ModelKind::transformer;

TEST(Systems, SeedsOfAConfigurationAreOneSystem) {
  const auto runs =
      runs_of(trained_run(kLuong, "runs/luong/seed-1/average", 1), trained_run(kTransformer, "runs/transformer"),
              trained_run(kLuong, "runs/luong/seed-2/average", 2));
  const std::vector<SystemRuns> systems = group_by_configuration(runs);
  ASSERT_EQ(systems.size(), 2u);
  EXPECT_EQ(systems[0].name, "luong");
  EXPECT_EQ(systems[0].runs, (Numbers{0, 2}));
  EXPECT_EQ(systems[0].description, "luong: lstm, score general, scope global, soft; 1 + 1 layers of 8");
  EXPECT_EQ(systems[1].name, "transformer");
  EXPECT_EQ(systems[1].runs, (Numbers{1}));
  EXPECT_EQ(systems[1].description, "transformer: 1 + 1 layers of 8, 2 heads");
}

TEST(Systems, OptionsWithoutInfluenceDoNotSeparateThemAndOthersDo) {
  auto runs = runs_of(trained_run(kLuong, "a", 1), trained_run(kLuong, "b", 2), trained_run(kLuong, "c", 3),
                      trained_run(kLuong, "d", 4), trained_run(kLuong, "e", 5), trained_run(kLuong, "f", 6));
  runs[1].config.trainer.log_every = 7;
  runs[1].config.train = {"elsewhere/train.en", "elsewhere/train.de"};
  runs[1].config.model.feed_forward = 3;  // of another family
  runs[2].config.model.dropout = 0.3;
  runs[3].inputs["the text to learn from"] = "33333333";
  runs[4].inputs.clear();  // imported: nothing shows that one is a seed of the other
  runs[5].inputs.clear();
  const std::vector<SystemRuns> systems = group_by_configuration(runs);
  ASSERT_EQ(systems.size(), 5u);
  EXPECT_EQ(systems[0].runs, (Numbers{0, 1}));
  EXPECT_EQ(systems[1].runs, (Numbers{2}));
  EXPECT_EQ(systems[2].runs, (Numbers{3}));
  EXPECT_EQ(systems[3].runs, (Numbers{4}));
  EXPECT_EQ(systems[4].runs, (Numbers{5}));
}

TEST(Systems, AConfigurationTrainedAgainWithItsSeedIsAnother) {
  const auto runs =
      runs_of(trained_run(kLuong, "x/run", 1), trained_run(kLuong, "y/run", 1), trained_run(kLuong, "z/run", 2));
  const std::vector<SystemRuns> systems = group_by_configuration(runs);
  ASSERT_EQ(systems.size(), 2u);
  EXPECT_EQ(systems[0].runs, (Numbers{0, 2}));
  EXPECT_EQ(systems[1].runs, (Numbers{1}));
  EXPECT_EQ(systems[0].name, "x/run") << "equal names are told apart by their paths";
  EXPECT_EQ(systems[1].name, "y/run");
}

TEST(Systems, ARunIsGivenOnceHoweverItIsSpelt) {
  const TemporaryDirectory directory;
  const std::string place = directory.path().string();
  make_directories(directory / "a");
  fs::create_directory_symlink("a", directory / "link");
  for (const char* again : {"/a", "/a/", "/./a", "/a/../a", "/link", "/link/"}) {
    const std::string path = place + again;
    EXPECT_THROW(group_by_configuration(runs_of(trained_run(kLuong, place + "/a", 1), trained_run(kLuong, path, 2))),
                 UserError)
        << path;
  }
}

TEST(Systems, NamesAreThoseOfDirectories) {
  const std::string here = fs::current_path().filename();
  for (const auto& [path, name] : std::vector<std::pair<std::string, std::string>>{{"runs/a/", "a"},
                                                                                   {"runs/a/average", "a"},
                                                                                   {"runs/a/average/", "a"},
                                                                                   {"a/seed-3/average", "a"},
                                                                                   {".", here},
                                                                                   {"b/..", here},
                                                                                   {"a/seedling", "seedling"},
                                                                                   {"average", here},
                                                                                   {"<b>\"q\"", "<b>\"q\""}}) {
    EXPECT_EQ(group_by_configuration(runs_of(trained_run(kLuong, path)))[0].name, name) << path;
  }
}

TEST(Systems, NamesCanBeGiven) {
  std::vector<SystemRuns> systems = group_by_configuration(
      runs_of(trained_run(kLuong, "a", 1), trained_run(kTransformer, "b"), trained_run(kLuong, "c", 2)));
  rename_systems(systems, {});
  EXPECT_EQ(systems[0].name, "a");
  rename_systems(systems, {"recurrent", "b"});
  EXPECT_EQ(systems[0].name, "recurrent");
  EXPECT_EQ(systems[1].name, "b");
  EXPECT_THROW(rename_systems(systems, {"one"}), UserError);
  EXPECT_THROW(rename_systems(systems, {"one", "two", "three"}), UserError);
}

std::map<std::string, OptionDifference> differences_of(const std::vector<TrainedRun>& runs) {
  std::map<std::string, OptionDifference> found;
  for (OptionDifference& difference : option_differences(runs, group_by_configuration(runs))) {
    found.emplace(difference.option, std::move(difference));
  }
  return found;
}

TEST(Systems, DifferencesAreOfTheOptionsThatMatterToSome) {
  auto runs = runs_of(trained_run(kLuong, "a"), trained_run(kLuong, "b"));
  EXPECT_TRUE(differences_of(runs).empty());
  runs[1].config.model.score = ScoreKind::dot;
  runs[1].config.schedule.learning_rate = 0.25;
  runs[1].config.trainer.log_every = 9;
  runs[1].config.model.feed_forward = 99;
  auto found = differences_of(runs);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("score").part, OptionPart::architecture);
  EXPECT_EQ(found.at("score").values, (std::vector<std::string>{"auto", "dot"}));
  EXPECT_EQ(found.at("learning-rate").part, OptionPart::conditions);
  EXPECT_EQ(found.at("learning-rate").values[1], "0.25");
}

// Of another family's options only those are shown that are not at their defaults.
TEST(Systems, ADashStandsForAnOptionThatAFamilyLacks) {
  auto runs = runs_of(trained_run(kLuong, "a"), trained_run(kTransformer, "b"));
  runs[0].config.model.input_feeding = false;
  const auto found = differences_of(runs);
  EXPECT_EQ(found.at("model").values, (std::vector<std::string>{"luong", "transformer"}));
  EXPECT_EQ(found.at("input-feeding").values, (std::vector<std::string>{"false", "-"}));
  EXPECT_EQ(found.at("heads").values, (std::vector<std::string>{"-", "2"}));
  EXPECT_FALSE(found.contains("scope")) << "global, and the Transformer has none";
  EXPECT_FALSE(found.contains("norm"));
}

std::string notes_of(const std::vector<TrainedRun>& runs) {
  std::string all;
  for (const std::string& note : notes_on_conditions(runs, group_by_configuration(runs))) all += note + "\n";
  return all;
}

TEST(Systems, NotesNameUnequalConditions) {
  const auto has = [](const std::string& notes, const std::string& part) {
    return notes.find(part) != std::string::npos;
  };
  auto runs = runs_of(trained_run(kLuong, "a", 1), trained_run(kLuong, "a/seed-2", 2),
                      trained_run(kTransformer, "b", 1), trained_run(kTransformer, "b/seed-2", 2));
  EXPECT_EQ(notes_of(runs), "") << "equal conditions, two seeds each";
  runs[2].tokens = 50900;
  runs[2].updates = 990;
  EXPECT_EQ(notes_of(runs), "") << "within two per cent";
  runs[2].tokens = 60000;
  runs[2].updates = 900;
  EXPECT_TRUE(has(notes_of(runs), "The target tokens seen in training differ: 50000 (a), 60000 (b)."))
      << notes_of(runs);
  EXPECT_TRUE(has(notes_of(runs), "The numbers of updates differ: 1000 (a), 900 (b).")) << notes_of(runs);

  runs = runs_of(trained_run(kLuong, "a", 1), trained_run(kTransformer, "b", 3));
  EXPECT_TRUE(has(notes_of(runs), "The seeds differ: 1 (a), 3 (b).")) << notes_of(runs);
  EXPECT_TRUE(has(notes_of(runs), "A system with one seed")) << notes_of(runs);
  EXPECT_TRUE(have_comparable_losses(runs[0], runs[1]));
  runs[1].inputs["the text to validate on"] = "44444444cccc";
  runs[1].inputs["the text to learn from"] = "55555555cccc";
  EXPECT_TRUE(has(notes_of(runs), "The training texts differ: 11111111 (a), 55555555 (b).")) << notes_of(runs);
  EXPECT_TRUE(has(notes_of(runs), "the curves cannot be compared: 22222222 (a), 44444444 (b).")) << notes_of(runs);
  EXPECT_FALSE(have_comparable_losses(runs[0], runs[1]));
  runs[1].inputs.clear();
  runs[1].updates = runs[1].tokens = std::nullopt;
  EXPECT_TRUE(has(notes_of(runs), "55555555") || has(notes_of(runs), "not recorded (b)")) << notes_of(runs);
  EXPECT_TRUE(has(notes_of(runs), "b: its training was not recorded")) << notes_of(runs);

  runs = runs_of(trained_run(kLuong, "a"), trained_run(kTransformer, "b"));
  const TemporaryDirectory directory;
  std::ofstream(directory / "text") << "another text for another vocabulary of words\n";
  runs[1].run.tokenizers.tgt = train_tokenizer({directory / "text"}, {.type = TokenizerType::word, .size = 14});
  EXPECT_TRUE(has(notes_of(runs), "The vocabularies differ")) << notes_of(runs);
  EXPECT_FALSE(have_comparable_losses(runs[0], runs[1]));

  EXPECT_TRUE(has(notes_of(runs_of(trained_run(kLuong, "a"))), "There is only one system: nothing is compared."));
}

// ---- a run of a directory

class TrainedRunTest : public ::testing::Test {
 protected:
  void write_run(const fs::path& run, const std::string& config = "seed = 7\n") {
    const attend::Run made = small_run(compared_model(kLuong), 1);
    make_directories(run / "tokenizer");
    made.tokenizers.save(run / "tokenizer");
    save_tensors(run / "weights.safetensors", parameters_of(*made.model));
    write_file_atomic(run / "config.toml",
                      "model = \"luong\"\nencoder-layers = 1\ndecoder-layers = 1\nwidth = 8\ndropout = 0\n" + config);
    write_file_atomic(run / "run.json", record_of_kind(RunKind::train).dump());
  }
  TrainedRun load(const fs::path& run) { return TrainedRun::load(run, run / "weights.safetensors", torch::kCPU); }
  TemporaryDirectory place_;
};

constexpr const char* kTrainLog = R"({"event":"save","step":0}
{"event":"train","step":50,"tokens":4000.0,"seconds":10.0,"memory_mb":300.5}
{"event":"valid","step":50,"loss":3.5,"bleu":2.25}
{"event":"train","step":100,"tok
not a line of the log
{"event":"train","step":"many","tokens":1}
[1, 2]
{"event":"train","step":100,"tokens":8000.0,"seconds":16.0,"memory_mb":290.0}
{"event":"valid","step":100,"loss":null}
{"event":"valid","step":110,"loss":2.5}
{"event":"save","step":110}
)";

// Damaged lines are skipped, whatever is wrong with them.
TEST_F(TrainedRunTest, HasTheTotalsAndTheCurveOfItsLog) {
  write_run(place_ / "run");
  write_file_atomic(place_ / "run" / "train.jsonl", std::string(kTrainLog) + R"({"event":"valid","step":12)");
  const TrainedRun run = load(place_ / "run");
  EXPECT_EQ(run.facts.seed, 7);
  EXPECT_EQ(run.updates, 100);
  EXPECT_EQ(run.tokens, 8000);
  EXPECT_EQ(run.seconds, 16.0);
  EXPECT_EQ(run.tokens_per_second, 500.0);
  EXPECT_EQ(run.memory_mb, 300.5) << "the peak";
  ASSERT_EQ(run.curve.size(), 3u);
  EXPECT_EQ(run.curve[0].update, 50);
  EXPECT_EQ(run.curve[0].tokens, 4000);
  EXPECT_EQ(run.curve[0].loss, 3.5);
  EXPECT_EQ(run.curve[0].bleu, 2.25);
  EXPECT_FALSE(run.curve[1].loss.has_value());
  EXPECT_EQ(run.curve[2].update, 110);
  EXPECT_EQ(run.curve[2].tokens, 8000) << "those of the last interval";
  EXPECT_EQ(run.curve[2].loss, 2.5);
  EXPECT_FALSE(run.curve[2].bleu.has_value());
}

TEST_F(TrainedRunTest, WithoutALogHasNoNumbers) {
  write_run(place_ / "run");
  const TrainedRun run = load(place_ / "run");
  EXPECT_FALSE(run.updates || run.tokens || run.seconds || run.tokens_per_second || run.memory_mb);
  EXPECT_TRUE(run.curve.empty());
  EXPECT_TRUE(run.inputs.empty());
  EXPECT_EQ(run.facts.attend, "");
}

TEST_F(TrainedRunTest, AnAverageHasTheRecordOfTheRunItLiesIn) {
  write_run(place_ / "run");
  write_file_atomic(place_ / "run" / "train.jsonl", kTrainLog);
  nlohmann::ordered_json record = record_of_kind(RunKind::train);
  record.update({{"attend", "0.1.0 (abc)"},
                 {"started", "2026-11-24T15:37:57Z"},
                 {"inputs", {{"the text to learn from", "88e3"}}}});
  write_file_atomic(place_ / "run" / "run.json", record.dump());
  write_run(place_ / "run" / "average");
  for (const fs::path& path : {place_ / "run" / "average", place_ / "run" / "average" / ""}) {
    const TrainedRun run = load(path);
    EXPECT_EQ(fs::weakly_canonical(run.directory), fs::weakly_canonical(place_ / "run")) << path;
    EXPECT_EQ(run.updates, 100);
    EXPECT_EQ(run.facts.attend, "0.1.0 (abc)");
    EXPECT_EQ(run.facts.started, "2026-11-24");
    EXPECT_EQ(run.inputs.at("the text to learn from"), "88e3");
  }
  // Beside a run that is none of its own there is nothing to read.
  write_run(place_ / "elsewhere" / "average");
  EXPECT_FALSE(load(place_ / "elsewhere" / "average").updates.has_value());
}

TEST_F(TrainedRunTest, ARecordOfAnotherShapeSaysNothing) {
  write_run(place_ / "run");
  write_file_atomic(place_ / "run" / "run.json",
                    R"({"format": 1, "kind": "train", "attend": 3, "started": null, "inputs": ["a"]})");
  const TrainedRun run = load(place_ / "run");
  EXPECT_EQ(run.facts.attend + run.facts.started, "");
}

TEST_F(TrainedRunTest, OfAnotherKindIsRefused) {
  write_run(place_ / "run");
  write_file_atomic(place_ / "run" / "run.json", record_of_kind(RunKind::pretrain).dump());
  EXPECT_THROW(load(place_ / "run"), UserError);
  EXPECT_THROW(load(place_ / "nowhere"), UserError);
}

}  // namespace
}  // namespace attend
