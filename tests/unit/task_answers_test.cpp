// Tasks that a language model is asked in a prompt, and the answers of a task.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "data/task/record_format.hpp"
#include "eval/answers/answers.hpp"
#include "eval/prompt.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/tokenizer.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// Prompts: what they are made of, the scores of labels beside reading token by token, and what is refused.

const Tokenizer& letters_of_prompts() {
  static const Tokenizer tokenizer = letters_of("abcdefghijklmnopqrstuvwxyz .,:!\n");
  return tokenizer;
}

LanguageModel small_language_model(LanguageCell cell, std::int64_t positions = 64) {
  const LanguageModel model = make_language_model(
      {.cell = cell,
       .stack = {.layers = 2, .width = 16, .max_positions = positions, .dropout = 0, .initial_deviation = 0.5}},
      letters_of_prompts().size());
  initialise(*model, 1);
  model->eval();
  return model;
}

class PromptFile : public TestWithFiles {
 protected:
  Prompt load(const std::string& text) { return Prompt::load(write("prompt.toml", text)); }
  // What is said of a file, without the folder.
  std::string refusal(const std::string& text) {
    return without_place(user_error_of([&] { load(text); }), directory_.path().string() + "/");
  }
};

constexpr const char* kPromptLabels = "[labels]\nno = \"bad\"\nyes = \"good\"\n";

TEST_F(PromptFile, ATemplateIsFilledWithTextsAndWords) {
  const Prompt prompt = load("template = \"It says: {text} ({text}) is {label}!\"\n" + std::string(kPromptLabels));
  EXPECT_EQ(prompt.beginning({.first = "{label}"}), "It says: {label} ({label}) is ");
  EXPECT_EQ(prompt.example({.first = "a"}, "good"), "It says: a (a) is good!");
  EXPECT_EQ(prompt.separator(), "\n");
  EXPECT_EQ(prompt.task().labels, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(prompt.words(), (std::vector<std::string>{"bad", "good"}));
}

TEST_F(PromptFile, APairHasTwoTextsAndTheLabelsOfItsTask) {
  const Prompt prompt = load(
      "task = \"rte\"\ntemplate = '{second} {first} {label}'\nseparator = '; '\n"
      "[labels]\nnot_entailment = 'no'\nentailment = 'yes'\n");
  EXPECT_EQ(prompt.example({.first = "a", .second = "b"}, "yes"), "b a yes");
  EXPECT_EQ(prompt.separator(), "; ");
  EXPECT_EQ(prompt.task().labels, (std::vector<std::string>{"entailment", "not_entailment"}));
  EXPECT_EQ(prompt.words(), (std::vector<std::string>{"yes", "no"}));
}

TEST_F(PromptFile, MistakesAreNamedByTheirLine) {
  const std::string labels = kPromptLabels, form = "template = '{text} {label}'\n", pair = "task = 'rte'\n";
  EXPECT_EQ(refusal(form + labels), "");
  EXPECT_EQ(refusal(labels), "prompt.toml: template is missing");
  EXPECT_EQ(refusal("\ntemplate = '{label}'\n" + labels), "prompt.toml:2: template has no {text}");
  EXPECT_EQ(refusal("template = '{text}'\n" + labels), "prompt.toml:1: template has no {label}");
  EXPECT_EQ(refusal("template = '{text} {label} {label}'\n" + labels),
            "prompt.toml:1: template has {label} more than once");
  EXPECT_EQ(refusal("template = '{label} {text}'\n" + labels),
            "prompt.toml:1: template has a text after {label}, where the model has not read it yet");
  EXPECT_EQ(refusal(pair + "template = '{first} {label}'\n" + labels), "prompt.toml:2: template has no {second}");
  EXPECT_EQ(refusal(pair + "template = '{first} {second} {text} {label}'\n" + labels),
            "prompt.toml:2: template has {text}, but the task reads two");
  EXPECT_EQ(refusal("temple = 'x'\n" + form + labels), "prompt.toml:1: temple: no such key");
  EXPECT_EQ(refusal("separator = 3\n" + form + labels), "prompt.toml:1: separator is 3, expected a text");
  EXPECT_EQ(refusal("task = 'stsb'\n" + form + labels), "prompt.toml:1: task is stsb, which is of kind regression");
  EXPECT_EQ(refusal(form + "[labels]\nyes = 'good'\n"), "prompt.toml: [labels] has 1 label, expected two or more");
  EXPECT_EQ(refusal(form + "[labels]\nyes = 'good'\nno = ' good'\n"),
            "prompt.toml:4: no has the words \"good\", which yes has too");
  EXPECT_EQ(refusal(form + "[labels]\nyes = 'good'\nno = ' '\n"), "prompt.toml:4: no has no words");
  EXPECT_EQ(refusal("task = 'sst2'\n" + form + "[labels]\n1 = 'good'\n2 = 'bad'\n"),
            "prompt.toml:5: 2 is not a label of the task");
  const std::string inference = "task = 'mnli'\ntemplate = '{first} {second} {label}'\n";
  EXPECT_EQ(refusal(inference + "[labels]\nneutral = 'a'\nentailment = 'b'\n"),
            "prompt.toml: [labels] has no words for contradiction, a label of the task");
  EXPECT_THROW(load(form + labels).check_labels({"no", "perhaps"}, "train.tsv"), UserError);
}

TEST(Shots, AreBalancedAndDrawnByTheSeed) {
  std::vector<LabelledText> texts(12);
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i].gold.label = i < 8 ? 0 : i < 11 ? 1 : 2;
  const auto counts = [&](const std::vector<std::size_t>& drawn) {
    std::map<std::size_t, int> of_label;
    for (const std::size_t i : drawn) ++of_label[*texts[i].gold.label];
    return std::vector<int>{of_label[0], of_label[1], of_label[2]};
  };
  EXPECT_EQ(counts(draw_shots(texts, 3, 3, 1)), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(counts(draw_shots(texts, 3, 5, 1)), (std::vector<int>{2, 2, 1})) << "a label has no more";
  EXPECT_EQ(counts(draw_shots(texts, 3, 12, 1)), (std::vector<int>{8, 3, 1}));
  std::set<std::vector<std::size_t>> different;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<std::size_t> drawn = draw_shots(texts, 3, 5, seed);
    EXPECT_EQ(drawn, draw_shots(texts, 3, 5, seed));
    EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), 5u);
    different.insert(drawn);
  }
  EXPECT_GT(different.size(), 15u);
}

class PromptScores : public PromptFile, public testing::WithParamInterface<LanguageCell> {
 protected:
  // Σ log p of the last `count` pieces of a text, read token by token.
  double naive(const std::string& text, std::size_t count) const {
    const torch::NoGradGuard no_grad;
    const std::vector<std::int32_t> ids = letters_of_prompts().encode(text);
    const auto state = model_->start(1);
    Pass pass = Pass::inference();
    std::int32_t previous = letters_of_prompts().special().eos;
    double sum = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const torch::Tensor logits = model_->step(*state, torch::tensor({previous}, torch::kLong), pass);
      if (i + count >= ids.size()) sum += at::log_softmax(logits.to(at::kDouble), 1)[0][ids[i]].item<double>();
      previous = ids[i];
    }
    return sum;
  }

  torch::Tensor scores(const Prompt& prompt, const std::vector<std::string>& texts, bool calibrate = false,
                       const std::vector<LabelledText>& shots = {}) const {
    TaskSplit split;
    for (const std::string& text : texts) split.texts.push_back({.first = text});
    return PromptedModel(*model_, letters_of_prompts(), prompt, shots, calibrate).scores(split);
  }

  LanguageModel model_ = small_language_model(GetParam());
};

TEST_P(PromptScores, AreThoseOfReadingTokenByToken) {
  const std::string words = "[labels]\nno = 'bad'\nyes = 'fun'\n";
  const Prompt prompt = load("template = 'so: {text} is {label}!'\nseparator = ' '\n" + words);
  const torch::Tensor found = scores(prompt, {"a dog", "the cats"}, false, {{.first = "rain", .gold = {.label = 0}}});
  ASSERT_EQ(found.sizes(), (std::vector<std::int64_t>{2, 2}));
  const std::string shot = "so: rain is bad! so: ";
  // Four pieces: the space belongs to the words.
  EXPECT_NEAR(found[0][0].item<double>(), naive(shot + "a dog is bad", 4), 1e-4);
  EXPECT_NEAR(found[0][1].item<double>(), naive(shot + "a dog is fun", 4), 1e-4);
  EXPECT_NEAR(found[1][0].item<double>(), naive(shot + "the cats is bad", 4), 1e-4);
  EXPECT_NEAR(found[1][1].item<double>(), naive(shot + "the cats is fun", 4), 1e-4);
  EXPECT_GT((found[0] - found[1]).abs().max().item<double>(), 1e-3) << "texts are told apart";
}

TEST_P(PromptScores, AreMeansIfTheLabelsHaveDifferentNumbersOfPieces) {
  const Prompt prompt = load("template = '{text} is {label}'\n" + std::string(kPromptLabels));
  const torch::Tensor found = scores(prompt, {"a dog"});
  EXPECT_TRUE(PromptedModel(*model_, letters_of_prompts(), prompt, {}, false).divides());
  EXPECT_NEAR(found[0][0].item<double>(), naive("a dog is bad", 4) / 4, 1e-4);
  EXPECT_NEAR(found[0][1].item<double>(), naive("a dog is good", 5) / 5, 1e-4);
}

TEST_P(PromptScores, AreCalibratedByThoseOfAnEmptyText) {
  const Prompt prompt = load("template = 'so: {text} is {label}'\n" + std::string(kPromptLabels));
  const std::vector<LabelledText> shots = {{.first = "rain", .gold = {.label = 0}}};
  const torch::Tensor raw = scores(prompt, {"a dog", ""}, false, shots),
                      calibrated = scores(prompt, {"a dog", ""}, true, shots);
  EXPECT_TRUE(torch::allclose(calibrated, raw - raw[1], 0, 1e-4));
  EXPECT_GT((calibrated - raw).abs().max().item<double>(), 1e-2);
}

TEST_P(PromptScores, AsAShareOfAllLabelsAreProbabilities) {
  const Prompt prompt = load("template = '{text} is {label}'\n" + std::string(kPromptLabels));
  const PromptedModel model(*model_, letters_of_prompts(), prompt, {}, false);
  const TaskSplit split{.texts = {{.first = "a dog"}, {.first = "b"}}};
  const torch::Tensor found = model.probabilities(split);
  EXPECT_EQ(found.scalar_type(), at::kFloat);
  EXPECT_TRUE(torch::allclose(found, at::softmax(model.scores(split), 1).to(at::kFloat)));
}

INSTANTIATE_TEST_SUITE_P(Cells, PromptScores, testing::Values(LanguageCell::transformer, LanguageCell::gru),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST_F(PromptFile, APromptThatIsLongerThanThePositionsIsRefused) {
  const LanguageModel model = small_language_model(LanguageCell::transformer, 16);
  const Prompt prompt = load("template = '{text} {label}'\n" + std::string(kPromptLabels));
  const PromptedModel prompted(*model, letters_of_prompts(), prompt, {}, false);
  TaskSplit split{.file = "in.txt", .texts = {{.line = 7, .first = "abcdefghij"}}};
  prompted.scores(split);  // </s>, a space, ten letters, a space, and the letters of "good" but the last
  split.texts[0].first += "k";
  EXPECT_EQ(user_error_of([&] { prompted.scores(split); }),
            "in.txt:7: the prompt has 17 tokens, but the model reads at most 16");
  split.texts[0].first = "a";
  const std::vector<LabelledText> shots = {{.first = "rain and more rain", .gold = {.label = 0}}};
  EXPECT_THROW(PromptedModel(*model, letters_of_prompts(), prompt, shots, false), UserError);
}

TEST_F(PromptFile, WordsThatTheVocabularyLacksAreRefused) {
  const LanguageModel model = small_language_model(LanguageCell::transformer);
  const Prompt prompt = load("template = '{text} {label}'\n[labels]\nno = 'bad'\nyes = '?'\n");
  EXPECT_THROW(PromptedModel(*model, letters_of_prompts(), prompt, {}, false), UserError);
}

// Answers of every kind out of what a head predicts: their scores, and the forms in which they are written.

struct Case {
  TaskKind kind;
  TaskSplit split;          // two records
  torch::Tensor predicted;  // all right
  std::vector<std::string> texts;
  std::string json;  // of the second record
  std::string file;
};

std::vector<Case> cases() {
  const auto texts = [](const Gold& first, const Gold& second) {
    return TaskSplit{.samples = {{.example = 1}, {.example = 0}},  // batches are in another order than records
                     .texts = {{.first = "a", .gold = first}, {.first = "b", .gold = second}}};
  };
  const auto question = [](const std::string& id, const std::string& answer) {
    return Question{.id = id, .text = "who?", .answers = {{.text = answer, .begin = answer == "Ann" ? 0 : 4}}};
  };
  // [CLS] q [SEP] Ann Bob [SEP]
  const std::vector<std::int32_t> ids = {1, 9, 2, 7, 8, 2};
  const TaggedSentence sentence{.tokens = {"Ann", "saw"}, .tags = {"yes", "no"}};
  const TaskSplit spans{
      .samples = {{.ids = ids, .first = 3, .example = 0}, {.ids = ids, .first = 3, .example = 1}},
      .questions = {.contexts = {"Ann Bob"}, .questions = {question("x", "Ann"), question("y", "Bob")}},
      .contexts = {{{.id = 7, .text = "Ann", .begin = 0, .end = 3}, {.id = 8, .text = "Bob", .begin = 4, .end = 7}}}};
  const TaskSplit tags{.samples = {{.example = 0, .words = {1, 2}}, {.example = 1, .words = {1, 2}}},
                       .sentences = {sentence, sentence}};
  const float low = -9;
  return {
      {TaskKind::classification,
       texts({.label = 0}, {.label = 1}),
       torch::tensor({{0.25F, 0.75F}, {0.5F, 0.125F}}),
       {"no", "yes"},
       R"({"label":"yes","probabilities":{"no":0.25,"yes":0.75}})",
       "index\tprediction\n0\tno\n1\tyes\n"},
      {TaskKind::multi_label,
       texts({.labels = {1, 1}}, {.labels = {0, 1}}),
       torch::tensor({{0.25F, 0.75F}, {0.75F, 0.875F}}),
       {"no,yes", "yes"},
       R"({"labels":["yes"],"probabilities":{"no":0.25,"yes":0.75}})",
       "index\tprediction\n0\tno,yes\n1\tyes\n"},
      {TaskKind::regression,
       texts({.number = 2}, {.number = 1}),
       torch::tensor({{0.25F}, {2.5F}}),
       {"2.500", "0.250"},
       R"({"number":0.25})",
       "index\tprediction\n0\t2.500\n1\t0.250\n"},
      {TaskKind::spans,
       spans,
       torch::tensor({{low, low},
                      {low, low},
                      {low, low},
                      {4.F, 4.F},
                      {0.F, 0.F},
                      {low, low},
                      {low, low},
                      {low, low},
                      {low, low},
                      {low, low},
                      {4.F, 4.F},
                      {low, low}}),
       {"Ann", "Bob"},
       "",
       "{\n \"x\": \"Ann\",\n \"y\": \"Bob\"\n}\n"},
      {TaskKind::tags,
       tags,
       torch::tensor({{0.25F, 0.75F}, {0.875F, 0.125F}, {0.25F, 0.75F}, {0.875F, 0.125F}}),
       {"yes no", "yes no"},
       R"({"tokens":["Ann","saw"],"tags":["yes","no"],"probabilities":[0.75,0.875]})",
       "Ann yes\nsaw no\n\nAnn yes\nsaw no\n\n"},
  };
}

std::unique_ptr<TaskAnswers> answered(const Case& one, const LabelledTask& task, const AnswerConfig& config = {}) {
  auto answers = make_answers(one.split, task, config);
  std::vector<const Sample*> samples;
  for (const Sample& sample : one.split.samples) samples.push_back(&sample);
  answers->add(samples, one.predicted);
  answers->finish();
  return answers;
}

// What a task may name as its metrics is what there is.
TEST(TaskAnswers, ScoreHasEveryMetricThatATaskMayName) {
  for (const Case& one : cases()) {
    const LabelledTask task{.kind = one.kind, .labels = {"no", "yes"}, .chunks = false};
    std::vector<std::string> found;
    for (const MetricValue& metric : score(*answered(one, task), /*with_intervals=*/false)) {
      found.push_back(metric.name);
      EXPECT_DOUBLE_EQ(metric.value, 100) << name_of(one.kind) << " " << metric.name;
    }
    std::vector<std::string> expected = {"score"};
    for (const std::string_view name : format_of(one.kind).metrics(task)) expected.emplace_back(name);
    std::ranges::sort(found);
    std::ranges::sort(expected);
    EXPECT_EQ(found, expected) << name_of(one.kind);
  }
}

TEST(TaskAnswers, ChunksHaveMetricsOfTheirOwn) {
  Case one = cases().back();
  for (TaggedSentence& sentence : one.split.sentences) sentence.tags = {"B-PER", "O"};
  const LabelledTask task{.kind = TaskKind::tags, .labels = {"O", "B-PER"}};
  std::vector<std::string_view> found;
  const auto scores = score(*answered(one, task), /*with_intervals=*/false);
  for (const MetricValue& metric : scores) {
    found.push_back(metric.name);
    EXPECT_DOUBLE_EQ(metric.value, 100) << metric.name;
  }
  found.pop_back();  // score
  EXPECT_EQ(found, format_of(TaskKind::tags).metrics(task));
}

TEST(TaskAnswers, EveryKindIsWrittenInItsForm) {
  for (const Case& one : cases()) {
    const LabelledTask task{.kind = one.kind, .labels = {"no", "yes"}, .chunks = false};
    const auto answers = answered(one, task);
    for (std::size_t i = 0; i < one.texts.size(); ++i) EXPECT_EQ(answers->text(i), one.texts[i]) << name_of(one.kind);
    if (one.kind != TaskKind::spans) {
      EXPECT_EQ(answers->json(1).dump(), one.json);
    }
    std::ostringstream file;
    answers->write(file);
    EXPECT_EQ(file.str(), one.file);
  }
}

TEST(TaskAnswers, ASpanHasCandidatesWhoseProbabilitiesSumToOne) {
  const Case one = cases()[3];
  const LabelledTask task{.kind = TaskKind::spans};
  const nlohmann::ordered_json object = answered(one, task)->json(0);
  EXPECT_EQ(object["answer"], "Ann");
  EXPECT_DOUBLE_EQ(object["no_answer"].get<double>(), -18 - 8);  // the score of [CLS] above that of the answer
  std::vector<std::string> texts;
  double sum = 0;
  for (const auto& candidate : object["nbest"]) {
    texts.push_back(candidate["text"]);
    sum += candidate["probability"].get<double>();
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"Ann", "Ann Bob", "Bob"}));
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(object["nbest"][0]["probability"].get<double>(), 1 / (1 + std::exp(-4) + std::exp(-8)), 1e-12);
}

TEST(TaskAnswers, TheNumberOfPrintedSpansChangesNoAnswer) {
  Case one = cases()[3];  // the likeliest begin lies behind the likeliest end
  one.predicted = torch::full({12, 2}, -9.0F);
  one.predicted.index_put_({torch::tensor({3, 4}), 0}, torch::tensor({4.0F, 6.0F}));
  one.predicted.index_put_({torch::tensor({3, 4}), 1}, torch::tensor({5.0F, 4.0F}));
  const LabelledTask task{.kind = TaskKind::spans};
  const auto all = answered(one, task), single = answered(one, task, {.nbest = 1});
  EXPECT_EQ(single->text(0), "Bob");
  EXPECT_EQ(single->text(0), all->text(0));
  EXPECT_EQ(single->probability(0), all->probability(0));
  EXPECT_EQ(all->json(0)["nbest"].size(), 3U);
  ASSERT_EQ(single->json(0)["nbest"].size(), 1U);
  EXPECT_EQ(single->json(0)["nbest"][0], all->json(0)["nbest"][0]);
}

}  // namespace
}  // namespace attend
