#include "eval/task_scores.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "core/error.hpp"
#include "core/log.hpp"
#include "eval/metrics/chunks.hpp"

namespace attend {
namespace {

using Subset = std::span<const std::size_t>;
using Measure = std::function<double(Subset)>;

template <class T>
std::vector<T> chosen(const std::vector<T>& items, Subset subset) {
  std::vector<T> result;
  for (const std::size_t i : subset) result.push_back(items[i]);
  return result;
}

struct NamedMeasure {
  std::string name;
  Measure measure;
};

std::vector<NamedMeasure> label_measures(const TaskAnswers& answers, const TaskSplit& split, const LabelledTask& task) {
  std::vector<std::int64_t> predicted, gold;
  for (std::size_t i = 0; i < split.texts.size(); ++i) {
    predicted.push_back(best_label(answers.numbers[i]));
    gold.push_back(static_cast<std::int64_t>(split.texts[i].targets[0]));
  }
  const auto num_labels = std::ssize(task.labels);
  const auto positive = std::ranges::find(task.labels, task.positive) - task.labels.begin();
  const auto f1 = [positive, num_labels](const auto& p, const auto& g) {
    if (positive < num_labels) return metrics::f1(p, g, positive);
    double sum = 0;
    for (std::int64_t label = 0; label < num_labels; ++label) sum += metrics::f1(p, g, label);
    return sum / static_cast<double>(num_labels);
  };
  return {{"accuracy", [=](Subset s) { return metrics::accuracy(chosen(predicted, s), chosen(gold, s)); }},
          {"f1", [=](Subset s) { return f1(chosen(predicted, s), chosen(gold, s)); }},
          {"matthews", [=](Subset s) { return metrics::matthews(chosen(predicted, s), chosen(gold, s)); }}};
}

std::vector<NamedMeasure> multi_label_measures(const TaskAnswers& answers, const TaskSplit& split) {
  std::vector<std::vector<std::int64_t>> predicted, gold;
  for (std::size_t i = 0; i < split.texts.size(); ++i) {
    std::vector<std::int64_t>& p = predicted.emplace_back();
    for (const double probability : answers.numbers[i]) p.push_back(probability > 0.5);
    gold.emplace_back(split.texts[i].targets.begin(), split.texts[i].targets.end());
  }
  const auto flat = [](const std::vector<std::vector<std::int64_t>>& rows, Subset subset) {
    std::vector<std::int64_t> result;
    for (const std::size_t i : subset) result.insert(result.end(), rows[i].begin(), rows[i].end());
    return result;
  };
  return {{"f1", [=](Subset s) { return metrics::f1(flat(predicted, s), flat(gold, s), 1); }},
          {"accuracy", [=](Subset s) {
             const auto equal = std::ranges::count_if(s, [&](std::size_t i) { return predicted[i] == gold[i]; });
             return static_cast<double>(equal) / static_cast<double>(s.size());
           }}};
}

std::vector<NamedMeasure> number_measures(const TaskAnswers& answers, const TaskSplit& split) {
  std::vector<double> predicted, gold;
  for (std::size_t i = 0; i < split.texts.size(); ++i) {
    predicted.push_back(answers.numbers[i][0]);
    gold.push_back(split.texts[i].targets[0]);
  }
  return {{"pearson", [=](Subset s) { return metrics::pearson(chosen(predicted, s), chosen(gold, s)); }},
          {"spearman", [=](Subset s) { return metrics::spearman(chosen(predicted, s), chosen(gold, s)); }}};
}

std::vector<std::string> texts_of(const Question& question) {
  std::vector<std::string> texts;
  texts.reserve(question.answers.size());
  for (const Answer& answer : question.answers) texts.push_back(answer.text);
  return texts;
}

std::vector<NamedMeasure> span_measures(const TaskAnswers& answers, const TaskSplit& split,
                                        const AnswerConfig& config) {
  std::vector<double> exact, f1;
  const bool none = split.questions.may_lack_answers;
  for (std::size_t q = 0; q < answers.spans.size(); ++q) {
    const std::vector<std::string> gold = texts_of(split.questions.questions[q]);
    const std::string given = given_answer(answers.spans[q], none, config);
    const metrics::AnswerScore score = none           ? metrics::score_answer_or_none(given, gold)
                                       : gold.empty() ? metrics::AnswerScore()  // all of them lost: none can be right
                                                      : metrics::score_answer(given, gold);
    exact.push_back(100 * score.exact);
    f1.push_back(100 * score.f1);
  }
  const auto mean = [](const std::vector<double>& values, Subset subset) {
    double sum = 0;
    for (const std::size_t i : subset) sum += values[i];
    return sum / static_cast<double>(subset.size());
  };
  return {{"f1", [=](Subset s) { return mean(f1, s); }}, {"exact", [=](Subset s) { return mean(exact, s); }}};
}

using metrics::ChunkMode;
using metrics::ChunkTally;

// The tally of some sentences, out of one a sentence.
auto tally_of(const TaskAnswers& answers, const TaskSplit& split, ChunkMode mode) {
  std::vector<ChunkTally> tallies(split.sentences.size(), ChunkTally(mode));
  for (std::size_t i = 0; i < tallies.size(); ++i) tallies[i].add(answers.tags[i], split.sentences[i].tags);
  return [mode, tallies = std::move(tallies)](Subset subset) {
    ChunkTally sum(mode);
    for (const std::size_t i : subset) sum.add(tallies[i]);
    return sum;
  };
}

std::vector<NamedMeasure> tag_measures(const TaskAnswers& answers, const TaskSplit& split, bool chunks) {
  const auto tally = tally_of(answers, split, ChunkMode::conlleval);
  const NamedMeasure accuracy{"accuracy", [=](Subset s) { return tally(s).token_accuracy(); }};
  if (!chunks) return {accuracy};
  const auto strict = tally_of(answers, split, ChunkMode::strict);
  return {{"f1", [=](Subset s) { return tally(s).total().f1(); }},
          {"precision", [=](Subset s) { return tally(s).total().precision(); }},
          {"recall", [=](Subset s) { return tally(s).total().recall(); }},
          accuracy,
          {"strict_f1", [=](Subset s) { return strict(s).total().f1(); }}};
}

std::vector<NamedMeasure> measures_of(const TaskAnswers& answers, const TaskSplit& split, const LabelledTask& task,
                                      const AnswerConfig& config) {
  switch (task.kind) {
    case TaskKind::classification:
      return label_measures(answers, split, task);
    case TaskKind::multi_label:
      return multi_label_measures(answers, split);
    case TaskKind::regression:
      return number_measures(answers, split);
    case TaskKind::spans:
      return span_measures(answers, split, config);
    case TaskKind::tags:
      return tag_measures(answers, split, task.chunks);
  }
  ensure(false, "a known task");
  return {};
}

// What chooses the best checkpoint where the task does not say it.
std::vector<std::string> default_metrics(const LabelledTask& task) {
  if (task.kind == TaskKind::classification || !task.chunks) return {"accuracy"};
  if (task.kind == TaskKind::regression) return {"pearson", "spearman"};
  return {"f1"};
}

}  // namespace

std::vector<MetricValue> score(const TaskAnswers& answers, const TaskSplit& split, const LabelledTask& task,
                               const AnswerConfig& config, bool with_intervals) {
  const std::vector<NamedMeasure> measures = measures_of(answers, split, task, config);
  std::vector<std::size_t> all(static_cast<std::size_t>(split.size()));
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<std::string> wanted = task.metrics.empty() ? default_metrics(task) : task.metrics;
  const Measure mean = [&](Subset subset) {
    double sum = 0;
    for (const std::string& name : wanted) {
      sum += std::ranges::find(measures, name, &NamedMeasure::name)->measure(subset);
    }
    return sum / static_cast<double>(wanted.size());
  };
  const auto value = [&](const std::string& name, const Measure& measure) {
    MetricValue metric{.name = name, .value = measure(all), .interval = {}};
    if (with_intervals) metric.interval = metrics::bootstrap(all.size(), measure);
    return metric;
  };
  std::vector<MetricValue> result;
  for (const NamedMeasure& named : measures) {
    result.push_back(value(named.name, named.measure));
    if (!std::isnan(result.back().value)) continue;
    log::warn("{}: {} has no value where all answers or all labels are alike", split.file, named.name);
  }
  result.push_back(value("score", mean));
  return result;
}

std::optional<metrics::BestThreshold> best_null_threshold(const TaskAnswers& answers, const TaskSplit& split) {
  if (!split.questions.may_lack_answers) return std::nullopt;
  std::vector<metrics::NoAnswerQuestion> questions;
  for (std::size_t q = 0; q < answers.spans.size(); ++q) {
    const std::vector<std::string> gold = texts_of(split.questions.questions[q]);
    const std::string given = given_answer(answers.spans[q], /*may_lack_answers=*/false, {});
    questions.push_back({.no_answer = answers.spans[q].no_answer,
                         .has_answer = !gold.empty(),
                         .answered = !given.empty(),
                         .score = metrics::score_answer_or_none(given, gold).f1});
  }
  metrics::BestThreshold best = metrics::best_threshold(std::move(questions));
  best.mean *= 100;
  return best;
}

}  // namespace attend
