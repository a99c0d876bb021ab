// The statistics of a comparison of encoders on cases whose answers are known, answers of other programs, and the cost
// of a text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "analysis/cost.hpp"
#include "analysis/cross_scores.hpp"
#include "analysis/pair_tests.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "data/task/samples.hpp"
#include "eval/answers/answers.hpp"
#include "eval/metrics/predictions.hpp"
#include "eval/metrics/significance.hpp"
#include "models/layers/initialise.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/tokenizer.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

std::vector<std::int64_t> labels_of(const std::vector<std::int64_t>& labels, NamedMeasure::Subset subset) {
  std::vector<std::int64_t> found;
  std::ranges::transform(subset, std::back_inserter(found), [&](std::size_t i) { return labels[i]; });
  return found;
}

std::vector<PairTest> tests_of_labels(const std::vector<std::int64_t>& gold,
                                      const std::vector<std::vector<std::int64_t>>& predicted, std::size_t resamples) {
  const metrics::Resamples samples = metrics::draw_resamples(gold.size(), resamples);
  std::vector<SystemRuns> systems;
  std::vector<std::vector<ScoredOutput>> scored;
  for (const std::vector<std::int64_t>& labels : predicted) {
    systems.push_back({.name = std::to_string(systems.size()), .description = {}, .runs = {systems.size()}});
    const NamedMeasure accuracy{"accuracy", [&](NamedMeasure::Subset s) {
                                  return metrics::accuracy(labels_of(labels, s), labels_of(gold, s));
                                }};
    const NamedMeasure f1{
        "f1", [&](NamedMeasure::Subset s) { return metrics::f1(labels_of(labels, s), labels_of(gold, s), 1); }};
    scored.push_back({scored_by(accuracy, true, gold.size(), samples), scored_by(f1, false, gold.size(), samples)});
  }
  return test_pairs(
      systems, scored,
      {{.key = "accuracy", .name = "Accuracy", .meaning = {}}, {.key = "f1", .name = "F1", .meaning = {}}});
}

// Of 40 texts, the first system alone is right on 9 and the second alone on 1: scipy.stats.binomtest(9, 10).pvalue is
// 0.021484375.
TEST(TaskStatistics, LabelsAreTestedByMcNemar) {
  const std::vector<std::int64_t> gold(40, 1);
  std::vector<std::int64_t> a(40, 1), b(40, 1);
  std::fill_n(b.begin(), 9, 0);
  a[39] = 0;
  const std::vector<PairTest> tests = tests_of_labels(gold, {a, b}, 1000);
  ASSERT_EQ(tests.size(), 2U);
  EXPECT_NEAR(tests[0].p_mcnemar.value(), 0.021484375, 1e-12);
  EXPECT_FALSE(tests[0].p_bootstrap || tests[0].p_randomisation);
  EXPECT_EQ(tests[0].p_holm, tests[0].p_mcnemar.value());
  EXPECT_NEAR(tests[0].difference.value, -20, 1e-9);
  EXPECT_LT(tests[0].difference.high, 0);
  EXPECT_TRUE(tests[1].p_bootstrap && !tests[1].p_mcnemar) << "F1 is no share of right answers";
  EXPECT_NEAR(tests[1].difference.value, 100 * (62.0 / 71 - 78.0 / 79), 1e-9);
}

// With three systems, the smallest p of a metric is multiplied by 3.
TEST(TaskStatistics, AreCorrectedOverPairs) {
  const std::vector<std::int64_t> gold(40, 1);
  std::vector<std::int64_t> a(40, 1), b(40, 1), c(40, 1);
  std::fill_n(b.begin(), 9, 0);
  std::fill_n(c.begin(), 3, 0);
  const std::vector<PairTest> tests = tests_of_labels(gold, {a, b, c}, 1000);
  EXPECT_NEAR(tests[0].p_holm, 3 * 2 / 512.0, 1e-12);
  EXPECT_NEAR(tests[2].p_mcnemar.value(), 2 / 8.0, 1e-12);
  EXPECT_NEAR(tests[4].p_mcnemar.value(), 2 / 64.0, 1e-12);
  EXPECT_NEAR(tests[4].p_holm, 2 * 2 / 64.0, 1e-12);
}

// Systems of equal skill: each test finds a difference on about 5 % of test sets, McNemar's on at most that, since its
// p-values are discrete.
TEST(TaskStatistics, FindDifferencesByChanceAsOftenAsTheySay) {
  constexpr int kSets = 1000, kTexts = 150;
  RandomStream random(7);
  int by_mcnemar = 0, by_bootstrap = 0;
  for (int set = 0; set < kSets; ++set) {
    std::vector<std::int64_t> gold(kTexts), a(kTexts), b(kTexts);
    for (int i = 0; i < kTexts; ++i) {
      gold[i] = random.below(2);
      const bool hard = random.uniform() < 0.3;  // for both, so that their answers depend on each other
      for (std::vector<std::int64_t>* labels : {&a, &b}) {
        (*labels)[i] = random.uniform() < (hard ? 0.5 : 0.9) ? gold[i] : 1 - gold[i];
      }
    }
    const std::vector<PairTest> tests = tests_of_labels(gold, {a, b}, 200);
    by_mcnemar += tests[0].p_mcnemar.value() < 0.05;
    by_bootstrap += tests[1].p_bootstrap.value() < 0.05;
  }
  EXPECT_GE(by_mcnemar, 0.02 * kSets);
  EXPECT_LE(by_mcnemar, 0.07 * kSets);
  EXPECT_GE(by_bootstrap, 0.03 * kSets);
  EXPECT_LE(by_bootstrap, 0.07 * kSets);
}

// The header's example.
TEST(TaskStatistics, CalibrationOfChoices) {
  const std::vector<Confidence> choices = {{0.95, true}, {0.92, true}, {0.55, true}, {0.55, false}};
  const Calibration found = calibration(choices);
  ASSERT_EQ(found.bins.size(), 2U);
  EXPECT_NEAR(found.bins[1].confidence, 0.935, 1e-12);
  EXPECT_NEAR(found.expected_error, 0.0575, 1e-12);
}

class GivenAnswers : public TestWithFiles {
 protected:
  std::unique_ptr<TaskAnswers> given(const std::string& predictions) {
    const std::string file = write("given.txt", predictions);
    auto answers = make_answers(split_, task_, {});
    answers->read(file);
    return answers;
  }
  void read(TaskKind kind, const std::string& name, const std::string& test, std::vector<std::string> labels = {}) {
    task_ = {.kind = kind, .labels = std::move(labels)};
    split_ = read_texts(write(name, test), task_, Labelled::yes);
  }
  // Without the folder.
  std::string refusal(const std::string& predictions) {
    std::string error = user_error_of([&] { given(predictions); });
    const std::string folder = directory_.path().string() + "/";
    for (auto at = error.find(folder); at != std::string::npos; at = error.find(folder)) error.erase(at, folder.size());
    return error;
  }
  double measured(const TaskAnswers& answers, const std::string& name) {
    for (const MetricValue& metric : score(answers, false)) {
      if (metric.name == name) return metric.value;
    }
    return -1;
  }

  LabelledTask task_;
  TaskSplit split_;
};

TEST_F(GivenAnswers, LabelsAreLinesOrATable) {
  read(TaskKind::classification, "dev.tsv", "sentence\tlabel\na\tno\nb\tyes\nc\tyes\n", {"no", "yes"});
  EXPECT_NEAR(measured(*given("no\nyes\nno\n"), "accuracy"), 200.0 / 3, 1e-9);
  EXPECT_EQ(measured(*given("index\tprediction\n0\tno\n1\tyes\n2\tyes\n"), "accuracy"), 100);
  EXPECT_EQ(given("no\t0.8\nyes\t0.9\nyes\t0.7\n")->text(1), "yes") << "as attend predict prints lines";
  EXPECT_EQ(refusal("no\nyes\n"), "given.txt: 2 answers, but dev.tsv has 3 records");
  EXPECT_EQ(refusal("no\nyes\nno\nno\n"), "given.txt: 4 answers, but dev.tsv has 3 records");
  EXPECT_EQ(refusal("no\nmaybe\nno\n"), "given.txt:2: \"maybe\" is not a label of the task");
}

TEST_F(GivenAnswers, SeveralLabelsAndNumbers) {
  read(TaskKind::multi_label, "dev.tsv", "sentence\tlabel\na\tred,blue\nb\t\n", {"blue", "red"});
  const auto labels = given("blue\n\n");
  EXPECT_NEAR(measured(*labels, "f1"), 200.0 / 3, 1e-9);
  EXPECT_EQ(labels->decisions(0).size(), 2U);
  EXPECT_FALSE(labels->decisions(0)[1].right);
  read(TaskKind::regression, "numbers.tsv", "sentence\tlabel\na\t1\nb\t2\nc\t4\n");
  EXPECT_NEAR(measured(*given("2\n4\n8\n"), "pearson"), 100, 1e-9);
  EXPECT_EQ(refusal("2\nx\n8\n"), "given.txt:2: \"x\" is not a number");
}

TEST_F(GivenAnswers, SpansAndTagsAreFilesOfPredict) {
  read(TaskKind::spans, "dev.json",
       R"({"data": [{"paragraphs": [{"context": "Ann is in Rome", "qas": [
          {"id": "1", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]},
          {"id": "2", "question": "Where?", "answers": [{"text": "Rome", "answer_start": 10}]}]}]}]})");
  EXPECT_EQ(measured(*given(R"({"2": "Rome", "1": "Rome"})"), "exact"), 50);
  EXPECT_EQ(refusal(R"({"1": "Ann"})"), "given.txt: no answer to the question 2 of dev.json");
  EXPECT_EQ(refusal("[]"), "given.txt: not an object of ids and answers");
  read(TaskKind::tags, "dev.txt", "Ann B-PER\nis O\n\nRome B-LOC\n", {"O", "B-LOC", "I-LOC", "B-PER", "I-PER"});
  const auto tags = given("Ann B-PER\nis O\n\nRome O\n");
  EXPECT_NEAR(measured(*tags, "f1"), 200.0 / 3, 1e-9);
  EXPECT_FALSE(tags->decisions(1)[0].right);
  EXPECT_EQ(refusal("Ann B-PER\nwas O\n\nRome O\n"), "given.txt:1: a sentence of other words than that in dev.txt:1");
  EXPECT_EQ(refusal("Ann B-ORG\nis O\n\nRome O\n"), "given.txt:1: \"B-ORG\" is not a label of the task");
}

// 2 T (4 H² + 2 H F) for the block of one layer, 4 H T² for its attention, and 2 H² + 2 H L once for the text.
TEST(TaskCost, OfABertIsCountedFromItsMatrices) {
  TextRun run{.options = {.pooling = Pooling::cls},
              .task = {.labels = {"no", "yes"}},
              .samples = {},
              .tokenizer = letters_of("abc "),
              .model = nullptr};
  StackOptions& stack = run.options.encoder;
  stack.layers = 1;
  stack.width = 8;
  stack.block.heads = 2;
  stack.block.feed_forward = 12;
  run.model = TextModel(run.options, run.task, run.tokenizer.size());
  const double T = 10;
  EXPECT_EQ(flops_per_text(run, T), 2 * T * (4 * 64 + 2 * 8 * 12) + 4 * 8 * T * T + 2 * 64 + 2 * 8 * 2);
}

}  // namespace
}  // namespace attend
