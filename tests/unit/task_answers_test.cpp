// Answers of every kind out of what a head predicts: their scores, and the forms in which they are written.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "data/task/record_format.hpp"
#include "eval/answers/answers.hpp"

namespace attend {
namespace {

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
