#include "eval/task_answers.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <span>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "data/batch/labelled_batch.hpp"
#include "eval/metrics/chunks.hpp"

namespace attend {
namespace {

// ---- Spans: the n best begins with the n best ends of each window of a question.

struct Candidate {
  double score = 0;
  std::size_t first = 0, last = 0;  // pieces of the context
};

// The `count` largest of numbers[from … to), best first.
std::vector<std::size_t> largest(std::span<const float> numbers, std::size_t from, std::size_t to, std::size_t count) {
  std::vector<std::size_t> places(to - from);
  std::iota(places.begin(), places.end(), from);
  const auto kept = places.begin() + static_cast<std::ptrdiff_t>(std::min(count, places.size()));
  std::partial_sort(places.begin(), kept, places.end(), [&](std::size_t a, std::size_t b) {
    return numbers[a] != numbers[b] ? numbers[a] > numbers[b] : a < b;
  });
  places.erase(kept, places.end());
  return places;
}

void gather(const Sample& window, std::span<const float> begin, std::span<const float> end, const AnswerConfig& config,
            std::vector<Candidate>& candidates) {
  const std::size_t from = window.first, to = window.ids.size() - 1;
  const auto count = static_cast<std::size_t>(config.nbest);
  for (const std::size_t b : largest(begin, from, to, count)) {
    for (const std::size_t e : largest(end, from, to, count)) {
      if (e < b || e - b + 1 > static_cast<std::size_t>(config.max_answer)) continue;
      candidates.push_back({.score = static_cast<double>(begin[b]) + static_cast<double>(end[e]),
                            .first = window.skipped + b - from,
                            .last = window.skipped + e - from});
    }
  }
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n\r");
  return first == std::string_view::npos
             ? ""
             : std::string(text.substr(first, text.find_last_not_of(" \t\n\r") + 1 - first));
}

SpanAnswer choose(std::vector<Candidate>& candidates, double null_score, const std::string& context,
                  const std::vector<Piece>& pieces, std::int64_t nbest) {
  std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::score);
  SpanAnswer answer;
  std::set<std::string> seen;
  for (const Candidate& candidate : candidates) {
    if (std::ssize(answer.candidates) == nbest) break;
    const std::size_t begin = pieces[candidate.first].begin;
    std::string text = trimmed(std::string_view(context).substr(begin, pieces[candidate.last].end - begin));
    if (text.empty() || !seen.insert(text).second) continue;
    answer.candidates.push_back({.text = std::move(text), .score = candidate.score});
  }
  if (answer.candidates.empty()) return answer;
  const double best = answer.candidates.front().score;
  double sum = 0;
  for (SpanAnswer::Candidate& candidate : answer.candidates)
    sum += candidate.probability = std::exp(candidate.score - best);
  for (SpanAnswer::Candidate& candidate : answer.candidates) candidate.probability /= sum;
  answer.no_answer = null_score - best;
  return answer;
}

// The answers to a question come together out of its windows, which follow each other.
class SpanAnswers {
 public:
  SpanAnswers(const TaskSplit& split, const AnswerConfig& config)
      : split_(split), config_(config), candidates_(split.size()), null_scores_(split.size(), kNone) {}

  void add(const Sample& window, const at::Tensor& logits_T2) {
    const at::Tensor columns = logits_T2.t().contiguous();
    const auto length = static_cast<std::size_t>(columns.size(1));
    const auto* numbers = columns.const_data_ptr<float>();
    const std::span begin(numbers, length), end(numbers + length, length);
    gather(window, begin, end, config_, candidates_[window.example]);
    double& null_score = null_scores_[window.example];
    null_score = std::min(null_score, static_cast<double>(begin[0]) + static_cast<double>(end[0]));
  }

  std::vector<SpanAnswer> choose_all() {
    std::vector<SpanAnswer> answers;
    for (std::size_t q = 0; q < candidates_.size(); ++q) {
      const std::size_t context = split_.questions.questions[q].context;
      answers.push_back(choose(candidates_[q], null_scores_[q], split_.questions.contexts[context],
                               split_.contexts[context], config_.nbest));
    }
    return answers;
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  const TaskSplit& split_;
  const AnswerConfig& config_;
  std::vector<std::vector<Candidate>> candidates_;
  std::vector<double> null_scores_;
};

// What the numbers of a sequence mean: probabilities, or of a regression the number itself.
at::Tensor probabilities(const at::Tensor& answers, TaskKind kind) {
  if (kind == TaskKind::classification) return at::softmax(answers, 1);
  return kind == TaskKind::multi_label ? at::sigmoid(answers) : answers.unsqueeze(1);
}

// ---- Metrics.

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

TaskAnswers answer(const TextModelImpl& model, const TaskSplit& split, const LabelledTask& task,
                   const AnswerConfig& config, torch::Device device, Labelled labelled) {
  const torch::NoGradGuard no_grad;
  TaskAnswers answers;
  const bool of_texts = !split.texts.empty();
  if (of_texts) answers.numbers.resize(split.texts.size());
  for (const TaggedSentence& sentence : split.sentences) {
    answers.tags.emplace_back(sentence.tokens.size());
    answers.numbers.emplace_back(sentence.tokens.size());
  }
  std::optional<SpanAnswers> spans;
  if (task.kind == TaskKind::spans) spans.emplace(split, config);
  double loss = 0;
  std::int64_t count = 0;
  for (const std::vector<const Sample*>& samples : batches_by_length(split.samples)) {
    if (signals::stop_requested()) throw Interrupted("answering");
    const LabelledBatch batch = on_device(make_labelled_batch(samples, task.kind), device);
    Context context = Context::inference();
    const at::Tensor logits = model.answers(batch, context);
    if (labelled == Labelled::yes) {
      loss += model.loss(logits, batch, {}).item<double>();
      count += model.count(batch);
    }
    if (of_texts) {
      const at::Tensor numbers = probabilities(logits, task.kind).cpu().contiguous();
      const auto* row = numbers.const_data_ptr<float>();
      for (const Sample* sample : samples) {
        answers.numbers[sample->example].assign(row, row + numbers.size(1));
        row += numbers.size(1);
      }
    } else if (spans) {
      const at::Tensor on_cpu = logits.cpu();
      const auto& offsets = batch.input.tokens.layout.offsets;
      for (std::size_t i = 0; i < samples.size(); ++i) {
        spans->add(*samples[i], on_cpu.slice(0, offsets[i], offsets[i + 1]));
      }
    } else {
      const auto [probabilities_K, tags_K] = at::softmax(logits, 1).cpu().max(1);
      const auto* tag = tags_K.const_data_ptr<std::int64_t>();
      const auto* probability = probabilities_K.const_data_ptr<float>();
      for (const Sample* sample : samples) {
        for (std::size_t word = 0; word < sample->places.size(); ++word) {
          answers.tags[sample->example][sample->skipped + word] = task.labels[*tag++];
          answers.numbers[sample->example][sample->skipped + word] = *probability++;
        }
      }
    }
  }
  if (spans) answers.spans = spans->choose_all();
  if (count > 0) answers.loss = loss / static_cast<double>(count);
  return answers;
}

std::int64_t best_label(const std::vector<double>& probabilities) {
  return std::ranges::max_element(probabilities) - probabilities.begin();
}

std::string given_answer(const SpanAnswer& answer, bool may_lack_answers, const AnswerConfig& config) {
  if (answer.candidates.empty() || (may_lack_answers && answer.no_answer > config.null_threshold)) return "";
  return answer.candidates.front().text;
}

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
