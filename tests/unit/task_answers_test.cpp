#include "eval/task_scores.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace attend {
namespace {

struct Case {
  TaskKind kind;
  TaskAnswers answers;
  TaskSplit split;
};

// Two records of every kind, answered.
std::vector<Case> cases() {
  const auto texts = [](std::vector<double> first, std::vector<double> second) {
    return TaskSplit{
        .texts = {{.first = "a", .targets = std::move(first)}, {.first = "b", .targets = std::move(second)}}};
  };
  const Question question{.id = "1", .text = "who?", .answers = {{.text = "Ann", .begin = 0}}};
  const SpanAnswer ann{.candidates = {{.text = "Ann", .score = 1, .probability = 1}}};
  const TaggedSentence sentence{.tokens = {"Ann"}, .tags = {"B-PER"}};
  return {
      {TaskKind::classification, {.numbers = {{0.9, 0.1}, {0.2, 0.8}}}, texts({0}, {1})},
      {TaskKind::multi_label, {.numbers = {{0.9, 0.1}, {0.2, 0.8}}}, texts({1, 0}, {0, 1})},
      {TaskKind::regression, {.numbers = {{0.9}, {0.2}}}, texts({2}, {1})},
      {TaskKind::spans, {.spans = {ann, ann}}, {.questions = {.contexts = {"Ann"}, .questions = {question, question}}}},
      {TaskKind::tags, {.tags = {{"B-PER"}, {"B-PER"}}}, {.sentences = {sentence, sentence}}},
  };
}

// What a task may name as its metrics is what there is.
TEST(TaskAnswers, ScoreHasEveryMetricThatATaskMayName) {
  for (const auto& [kind, answers, split] : cases()) {
    const LabelledTask task{.kind = kind, .labels = {"no", "yes"}};
    std::vector<std::string> found;
    for (const MetricValue& metric : score(answers, split, task, {}, /*with_intervals=*/false)) {
      found.push_back(metric.name);
      EXPECT_DOUBLE_EQ(metric.value, kind == TaskKind::spans ? 100 : 1) << name_of(kind) << " " << metric.name;
    }
    std::vector<std::string> expected = {"score"};
    for (const std::string_view name : metrics_of(task)) expected.emplace_back(name);
    std::ranges::sort(found);
    std::ranges::sort(expected);
    EXPECT_EQ(found, expected) << name_of(kind);
  }
}

}  // namespace
}  // namespace attend
