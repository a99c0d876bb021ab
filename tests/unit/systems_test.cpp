// Runs as they are read for a comparison, and how they become systems.
#include "analysis/run_groups.hpp"

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
#include "tests/support/tokenizer.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

ModelConfig compared_model(ModelKind kind) {
  ModelConfig config;
  config.model = kind;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 8;
  if (kind == ModelKind::transformer) config.block.heads = 2, config.block.feed_forward = 16;
  config.dropout = 0;
  return config;
}

const std::map<std::string, std::string> kRecordedInputs = {{"the text to learn from", "11111111aaaa"},
                                                            {"the text to validate on", "22222222bbbb"}};

TrainedRun trained_run(ModelKind kind, const std::string& path, std::int64_t seed = 1) {
  TrainedRun run{{}, small_run(compared_model(kind), 1)};
  run.facts = {.path = path, .seed = seed, .checkpoint = "auto", .started = {}, .attend = {}};
  run.config.model = run.run.options;
  run.config.trainer.seed = seed;
  run.inputs = kRecordedInputs;
  run.cost.updates = 1000;
  run.cost.tokens = 50000;
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
  const std::vector<SystemRuns> systems = group_by_configuration(conditions_of(runs));
  ASSERT_EQ(systems.size(), 2u);
  EXPECT_EQ(systems[0].name, "luong");
  EXPECT_EQ(systems[0].runs, (Numbers{0, 2}));
  EXPECT_EQ(systems[0].description, "luong: lstm, score general, scope global, soft; 1 + 1 layers of 8");
  EXPECT_EQ(systems[1].name, "transformer");
  EXPECT_EQ(systems[1].runs, (Numbers{1}));
  EXPECT_EQ(systems[1].description, "transformer: 1 + 1 layers of 8, 2 heads, score scaled-dot, feed-forward 16");
}

TEST(Systems, AutomaticHeadsAreDescribedByTheirNumber) {
  auto runs = runs_of(trained_run(kTransformer, "a"));
  runs[0].config.model.block.heads.reset();
  runs[0].config.model.width = 128;
  EXPECT_EQ(group_by_configuration(conditions_of(runs))[0].description,
            "transformer: 1 + 1 layers of 128, 2 heads, score scaled-dot, feed-forward 16");
}

TEST(Systems, OptionsWithoutInfluenceDoNotSeparateThemAndOthersDo) {
  auto runs = runs_of(trained_run(kLuong, "a", 1), trained_run(kLuong, "b", 2), trained_run(kLuong, "c", 3),
                      trained_run(kLuong, "d", 4), trained_run(kLuong, "e", 5), trained_run(kLuong, "f", 6));
  runs[1].config.trainer.log_every = 7;
  runs[1].config.trainer.watch = 100;
  runs[1].config.train = {"elsewhere/train.en", "elsewhere/train.de"};
  runs[1].config.model.block.feed_forward = 3;           // of another family
  for (std::size_t run = 0; run < runs.size(); ++run) {  // of equal content, as the inputs show
    const std::string place = run == 0 ? "" : "elsewhere/";
    runs[run].config.guided.links = place + "links";
  }
  runs[2].config.model.dropout = 0.3;
  runs[3].inputs["the text to learn from"] = "33333333";
  runs[4].inputs.clear();  // imported: nothing shows that one is a seed of the other
  runs[5].inputs.clear();
  const std::vector<SystemRuns> systems = group_by_configuration(conditions_of(runs));
  ASSERT_EQ(systems.size(), 5u);
  EXPECT_EQ(systems[0].runs, (Numbers{0, 1}));
  EXPECT_EQ(systems[1].runs, (Numbers{2}));
  EXPECT_EQ(systems[2].runs, (Numbers{3}));
  EXPECT_EQ(systems[3].runs, (Numbers{4}));
  EXPECT_EQ(systems[4].runs, (Numbers{5}));
}

TEST(Systems, TheWordsOfBleuSeparateThem) {  // they decide which checkpoint is the best
  auto runs = runs_of(trained_run(kLuong, "a", 1), trained_run(kLuong, "b", 2));
  for (auto& run : runs) run.config.valid = {"valid.src", "valid.tgt"};
  EXPECT_EQ(group_by_configuration(conditions_of(runs)).size(), 1u);
  runs[1].config.metrics.tokenize = metrics::Tokenization::character;
  EXPECT_EQ(group_by_configuration(conditions_of(runs)).size(), 2u);
}

TEST(Systems, AConfigurationTrainedAgainWithItsSeedIsAnother) {
  const auto runs =
      runs_of(trained_run(kLuong, "x/run", 1), trained_run(kLuong, "y/run", 1), trained_run(kLuong, "z/run", 2));
  const std::vector<SystemRuns> systems = group_by_configuration(conditions_of(runs));
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
    const auto runs = runs_of(trained_run(kLuong, place + "/a", 1), trained_run(kLuong, path, 2));
    EXPECT_THROW(group_by_configuration(conditions_of(runs)), UserError) << path;
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
    EXPECT_EQ(group_by_configuration(conditions_of(runs_of(trained_run(kLuong, path))))[0].name, name) << path;
  }
}

TEST(Systems, NamesCanBeGiven) {
  std::vector<SystemRuns> systems = group_by_configuration(
      conditions_of(runs_of(trained_run(kLuong, "a", 1), trained_run(kTransformer, "b"), trained_run(kLuong, "c", 2))));
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
  const std::vector<RunConditions> conditions = conditions_of(runs);
  for (OptionDifference& difference : option_differences(conditions, group_by_configuration(conditions))) {
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
  runs[1].config.model.block.feed_forward = 99;
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

TEST(Systems, LearningRatesAreThoseOfRecordedTrainings) {
  auto runs = runs_of(trained_run(kLuong, "a"), trained_run(kTransformer, "b"), trained_run(kTransformer, "c"));
  runs[0].config.schedule.learning_rate = 0.25;
  runs[2].inputs.clear();  // imported
  const std::vector<RunConditions> conditions = conditions_of(runs);
  const std::vector<LearningRate> rates = learning_rates_of(conditions, group_by_configuration(conditions));
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_EQ(rates[0].system + rates[0].family + rates[0].rate, "aluong0.25");
  EXPECT_EQ(rates[1].family, "transformer");
}

std::string notes_of(const std::vector<TrainedRun>& runs, const std::vector<std::string>& test = {"t", "t"}) {
  std::string all;
  const std::vector<RunConditions> conditions = conditions_of(runs);
  for (const std::string& note : notes_on_conditions(conditions, group_by_configuration(conditions), test)) {
    all += note + "\n";
  }
  return all;
}

bool has(const std::string& notes, const std::string& part) { return notes.find(part) != std::string::npos; }

TEST(Systems, NotesNameUnequalConditions) {
  auto runs = runs_of(trained_run(kLuong, "a", 1), trained_run(kLuong, "a/seed-2", 2),
                      trained_run(kTransformer, "b", 1), trained_run(kTransformer, "b/seed-2", 2));
  EXPECT_EQ(notes_of(runs), "") << "equal conditions, two seeds each";
  runs[2].cost.tokens = 50900;
  runs[2].cost.updates = runs[3].cost.updates = 990;
  EXPECT_EQ(notes_of(runs), "") << "within two per cent";
  runs[2].cost.tokens = 60000;
  runs[2].cost.updates = runs[3].cost.updates = 900;
  EXPECT_EQ(notes_of(runs),
            "The target tokens seen in training differ: 50,000 (a), 60,000 (b).\n"
            "The numbers of updates differ: 1,000 (a), 900 (b).\n");

  runs = runs_of(trained_run(kLuong, "a", 1), trained_run(kTransformer, "b", 3));
  EXPECT_TRUE(has(notes_of(runs), "The seeds differ: 1 (a), 3 (b).")) << notes_of(runs);
  EXPECT_TRUE(has(notes_of(runs), "A system with one seed")) << notes_of(runs);
  EXPECT_TRUE(have_comparable_losses(conditions_of(runs[0]), conditions_of(runs[1])));
  runs[1].cost.updates = runs[1].cost.tokens = std::nullopt;
  EXPECT_TRUE(has(notes_of(runs), "b: its training was not recorded")) << notes_of(runs);
}

// One run that was ended early makes no difference between configurations, and the mean over seeds is of unlike runs.
TEST(Systems, NotesNameRunsOfOneSystemThatWereTrainedForDifferentTimes) {
  auto runs =
      runs_of(trained_run(kLuong, "a", 1), trained_run(kLuong, "a/seed-2", 2), trained_run(kLuong, "a/seed-3", 3));
  runs[1].cost.updates = 985;
  EXPECT_EQ(notes_of(runs), "");
  runs[2].cost.updates = 100;
  EXPECT_EQ(
      notes_of(runs),
      "The runs of a were trained for different numbers of updates: 1,000 (seed 1), 985 (seed 2), 100 (seed 3).\n");
  runs[2].cost.updates = std::nullopt;
  EXPECT_TRUE(has(notes_of(runs), "not recorded (seed 3).")) << notes_of(runs);
}

TEST(Systems, NotesNameTextsByTheirFiles) {
  auto runs = runs_of(trained_run(kLuong, "a", 1), trained_run(kTransformer, "b", 1));
  for (TrainedRun& run : runs) {
    run.config.train = {"data/train.en", "data/train.de"};
    run.config.valid = {"data/valid.en", "data/valid.de"};
  }
  const std::vector<std::string> test = {"test.en.gz", "test.de"};
  EXPECT_FALSE(has(notes_of(runs, test), "texts differ") || has(notes_of(runs, test), "to translate"));
  runs[1].inputs["the text to validate on"] = "44444444cccc";
  runs[1].inputs["the text to learn from"] = "55555555cccc";
  EXPECT_FALSE(have_comparable_losses(conditions_of(runs[0]), conditions_of(runs[1])));
  const std::string same_names = notes_of(runs, test);
  EXPECT_TRUE(has(same_names,
                  "The training texts differ: data/train.en and data/train.de, XXH3 11111111 (a), data/train.en and "
                  "data/train.de, XXH3 55555555 (b)."))
      << same_names;
  runs[1].config.train = {"data/train.de", "data/train.en"};
  runs[1].config.valid = {"data/valid.de", "data/valid.en"};
  const std::string reversed = notes_of(runs, test);
  EXPECT_TRUE(has(
      reversed, "The training texts differ: data/train.en and data/train.de (a), data/train.de and data/train.en (b)."))
      << reversed;
  EXPECT_TRUE(has(reversed, "so the curves cannot be compared: data/valid.en and data/valid.de (a), data/valid.de"))
      << reversed;
  EXPECT_TRUE(has(reversed,
                  "b was trained to translate de to en (data/train.de and data/train.en), but the test set is en to de "
                  "(test.en.gz and test.de)."))
      << reversed;
  EXPECT_FALSE(has(reversed, "a was trained to translate") || has(reversed, "XXH3")) << reversed;
  runs[1].inputs.clear();
  EXPECT_TRUE(has(notes_of(runs, test), "data/train.de (a), not recorded (b).")) << notes_of(runs, test);
}

TEST(Systems, NotesNameVocabulariesByTheirOrigin) {
  auto runs = runs_of(trained_run(kLuong, "a"), trained_run(kTransformer, "b"));
  EXPECT_TRUE(have_equal_vocabularies(conditions_of(runs)));
  runs[1].run.tokenizers.tgt =
      tokenizer_of("another text for another vocabulary of words\n", {.type = TokenizerType::word, .size = 13});
  runs[0].config.train = {"train.en", "train.de"};
  runs[1].config.tokenizer = {"en.model", "de.model"};
  const std::string notes = notes_of(runs);
  EXPECT_TRUE(
      has(notes, "64 pieces, learnt from train.en and train.de (a), 64 and 13 pieces, en.model and de.model (b)."))
      << notes;
  EXPECT_FALSE(have_equal_vocabularies(conditions_of(runs)));
  EXPECT_FALSE(have_comparable_losses(conditions_of(runs[0]), conditions_of(runs[1])));

  // Pieces of two vocabularies are made words before they are compared.
  runs[0].cost.pieces_per_word = 2;
  runs[1].cost.tokens = 25000;
  EXPECT_FALSE(has(notes_of(runs), "seen in training")) << notes_of(runs);
  runs[1].cost.tokens = 50000;
  EXPECT_TRUE(has(notes_of(runs),
                  "The target words seen in training differ (tokens over the pieces per word of the "
                  "references): 25,000 (a), 50,000 (b)."))
      << notes_of(runs);
}

// Validation skips long pairs, so losses are of other sentences.
TEST(Systems, LossesOfOtherPairsCannotBeCompared) {
  auto runs = runs_of(trained_run(kLuong, "a"), trained_run(kTransformer, "b"));
  EXPECT_TRUE(have_comparable_losses(conditions_of(runs[0]), conditions_of(runs[1])));
  runs[1].config.corpus.max_length = 20;
  EXPECT_FALSE(have_comparable_losses(conditions_of(runs[0]), conditions_of(runs[1])));
  EXPECT_TRUE(has(notes_of(runs), "so validation losses cannot be compared: 256 (a), 20 (b).")) << notes_of(runs);
}

TEST(Systems, ATrainingTextThatWasChangedIsNotTheTrainingText) {
  const TemporaryDirectory directory;
  const std::string source = directory / "train.en", target = directory / "train.de";
  std::ofstream(source) << "a dog\n";
  std::ofstream(target) << "ein Hund\n";
  TrainedRun run = trained_run(kLuong, "a");
  run.config.train = {source, target};
  run.inputs["the text to learn from"] = hash_hex_of_files(run.config.train);
  EXPECT_EQ(fault_of_training_text(conditions_of(run)), "");
  std::ofstream(target, std::ios::app) << "eine Katze\n";
  const std::string fault = fault_of_training_text(conditions_of(run));
  EXPECT_TRUE(has(fault, "no longer hold what a learnt from")) << fault;
  fs::remove(target);
  EXPECT_EQ(fault_of_training_text(conditions_of(run)), target + ", which a learnt from, is not there");
  run.inputs.clear();
  EXPECT_EQ(fault_of_training_text(conditions_of(run)), "a does not record its training text");
}

// ---- a run of a directory

class TrainedRunTest : public ::testing::Test {
 protected:
  void write_run(const fs::path& run, const std::string& config = "seed = 7\n") {
    const TranslationRun made = small_run(compared_model(kLuong), 1);
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
{"event":"valid","step":50,"loss":3.5,"ppl":33.1,"bleu":2.25,"rougeL":41.5}
{"event":"train","step":100,"tok
not a line of the log
{"event":"train","step":"many","tokens":1}
[1, 2]
{"event":"train","step":100,"tokens":8000.0,"seconds":16.0,"memory_mb":290.0}
{"event":"valid","step":100,"loss":null}
{"event":"valid","step":110,"loss":2.5}
{"event":"save","step":110}
)";

// Only two of many watched updates are kept, and of each the layers up to the first gap.
TEST_F(TrainedRunTest, HasTheFirstAndTheLastWatchedUpdate) {
  write_run(place_ / "run");
  write_file_atomic(place_ / "run" / "train.jsonl", R"({"event":"watch","step":100,"gradient/encoder.0":0.5,)"
                                                    R"("rank_one/encoder.0":0.9,"rank_one/encoder.1":0.7,)"
                                                    R"("gradient/decoder.0":null,"rank_one/decoder.0":0.8}
{"event":"watch","step":200,"gradient/encoder.0":0.6}
{"event":"watch","step":300,"gradient/decoder.0":0.25,"gradient/decoder.1":2,"gradient/decoder.3":9,"rank_one/decoder.0":1}
)");
  const std::vector<WatchedUpdate> watched = load(place_ / "run").watched;
  ASSERT_EQ(watched.size(), 2U);
  EXPECT_EQ(watched[0].update, 100);
  ASSERT_EQ(watched[0].stacks.size(), 2U);
  EXPECT_EQ(watched[0].stacks[0].place, "encoder");
  EXPECT_EQ(watched[0].stacks[0].gradient, (std::vector<double>{0.5}));
  EXPECT_EQ(watched[0].stacks[0].rank_one, (std::vector<double>{0.9, 0.7}));
  EXPECT_TRUE(watched[0].stacks[1].gradient.empty()) << "not finite";
  EXPECT_EQ(watched[1].update, 300);
  ASSERT_EQ(watched[1].stacks.size(), 1U);
  EXPECT_EQ(watched[1].stacks[0].place, "decoder");
  EXPECT_EQ(watched[1].stacks[0].gradient, (std::vector<double>{0.25, 2}));
}

// Damaged lines are skipped, whatever is wrong with them.
TEST_F(TrainedRunTest, HasTheTotalsAndTheCurveOfItsLog) {
  write_run(place_ / "run");
  write_file_atomic(place_ / "run" / "train.jsonl", std::string(kTrainLog) + R"({"event":"valid","step":12)");
  const TrainedRun run = load(place_ / "run");
  EXPECT_EQ(run.facts.seed, 7);
  EXPECT_EQ(run.cost.updates, 100);
  EXPECT_EQ(run.cost.tokens, 8000);
  EXPECT_EQ(run.cost.train_seconds, 16.0);
  EXPECT_EQ(run.cost.train_tokens_per_second, 500.0);
  EXPECT_EQ(run.cost.train_memory_mb, 300.5) << "the peak";
  ASSERT_EQ(run.curve.size(), 3u);
  EXPECT_EQ(run.curve[0].update, 50);
  EXPECT_EQ(run.curve[0].tokens, 4000);
  EXPECT_EQ(run.curve[0].loss, 3.5);
  EXPECT_EQ(run.curve[0].scores, (std::map<std::string, double>{{"bleu", 2.25}, {"ppl", 33.1}, {"rougeL", 41.5}}));
  EXPECT_FALSE(run.curve[1].loss.has_value());
  EXPECT_EQ(run.curve[2].update, 110);
  EXPECT_EQ(run.curve[2].tokens, 8000) << "those of the last interval";
  EXPECT_EQ(run.curve[2].loss, 2.5);
  EXPECT_TRUE(run.curve[2].scores.empty());
}

// Training ends between two regular lines of the log: the totals are those of the last checkpoint, and what a
// validation had taken lies between the records before and after it.
TEST_F(TrainedRunTest, HasTheTotalsOfItsLastCheckpoint) {
  write_run(place_ / "run");
  write_file_atomic(place_ / "run" / "train.jsonl",
                    std::string(kTrainLog) + R"({"event":"valid","step":120,"loss":2.0})");
  for (const auto& [step, state] :
       std::map<std::string, std::string>{{"step-100", R"({"step": 100, "tokens": 8000, "seconds": 16.5})"},
                                          {"step-120", R"({"step": 120, "tokens": 9000, "seconds": 20.5})"},
                                          {"step-130", "{ cut off"}}) {
    make_directories(place_ / "run" / "checkpoints" / step);
    write_file_atomic(place_ / "run" / "checkpoints" / step / "state.json", state);
  }
  const TrainedRun run = load(place_ / "run");
  EXPECT_EQ(run.cost.updates, 120);
  EXPECT_EQ(run.cost.tokens, 9000);
  EXPECT_EQ(run.cost.train_seconds, 20.5);
  ASSERT_EQ(run.curve.size(), 4u);
  EXPECT_EQ(run.curve[2].update, 110);
  EXPECT_EQ(run.curve[2].tokens, 8500);
  EXPECT_EQ(run.curve[2].seconds, 18.5);
  EXPECT_EQ(run.curve[3].tokens, 9000);
}

TEST_F(TrainedRunTest, WithoutALogHasNoNumbers) {
  write_run(place_ / "run");
  const TrainedRun run = load(place_ / "run");
  EXPECT_FALSE(run.cost.updates || run.cost.tokens || run.cost.train_seconds || run.cost.train_tokens_per_second ||
               run.cost.train_memory_mb);
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
    EXPECT_EQ(run.cost.updates, 100);
    EXPECT_EQ(run.facts.attend, "0.1.0 (abc)");
    EXPECT_EQ(run.facts.started, "2026-11-24");
    EXPECT_EQ(run.inputs.at("the text to learn from"), "88e3");
  }
  // Elsewhere it needs to say whose it is.
  write_run(place_ / "elsewhere" / "average");
  EXPECT_FALSE(load(place_ / "elsewhere" / "average").cost.updates.has_value());
  nlohmann::ordered_json elsewhere = record_of_kind(RunKind::train);
  elsewhere["average_of"] = (place_ / "run").string();
  write_file_atomic(place_ / "elsewhere" / "average" / "run.json", elsewhere.dump());
  const TrainedRun average = load(place_ / "elsewhere" / "average");
  EXPECT_EQ(average.cost.updates, 100);
  EXPECT_EQ(average.curve.size(), 3u);
  EXPECT_EQ(average.facts.attend, "0.1.0 (abc)");
}

TEST_F(TrainedRunTest, AveragedWeightsAreNamedByTheirSteps) {
  write_run(place_ / "run");
  EXPECT_EQ(load(place_ / "run").facts.checkpoint, "run");
  const TranslationRun made = small_run(compared_model(kLuong), 1);
  save_tensors(place_ / "run" / "weights.safetensors", parameters_of(*made.model),
               {{"mean_of", "step-200 step-300 step-400"}});
  EXPECT_EQ(load(place_ / "run").facts.checkpoint, "average of steps 200, 300, 400");
}

TEST_F(TrainedRunTest, ACheckpointOfAnotherRunIsRefused) {
  write_run(place_ / "run");
  write_run(place_ / "other");
  EXPECT_THROW(TrainedRun::load(place_ / "run", place_ / "other" / "weights.safetensors", torch::kCPU), UserError);
  EXPECT_THROW(TrainedRun::load(place_ / "run", place_ / "run" / ".." / "other" / "weights.safetensors", torch::kCPU),
               UserError);
  fs::create_directory_symlink(place_ / "run", place_ / "link");
  EXPECT_NO_THROW(TrainedRun::load(place_ / "link", place_ / "run" / "weights.safetensors", torch::kCPU));
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
