// The answers of each kind of task.
#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <ranges>
#include <set>

#include "core/error.hpp"
#include "core/json.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"
#include "eval/answers/answers.hpp"
#include "eval/metrics/predictions.hpp"

namespace attend {
namespace {

// The items at the indices in `subset`.
template <class T>
std::vector<T> chosen(const std::vector<T>& items, NamedMeasure::Subset subset) {
  std::vector<T> result;
  for (const std::size_t i : subset) result.push_back(items[i]);
  return result;
}

// Calls see(example, row) for every row of predictions that have one row per sample.
template <class See>
void for_each_row(std::span<const Sample* const> samples, const torch::Tensor& predicted, See see) {
  const torch::Tensor rows = predicted.contiguous();
  const std::size_t width = rows.size(1);
  const float* row = rows.const_data_ptr<float>();
  for (const Sample* sample : samples) {
    see(sample->example, std::span(row, width));
    row += width;
  }
}

// The probability of every label for every text: common to classification and multi-label tasks.
class LabelProbabilities : public TaskAnswers {
 public:
  LabelProbabilities(const TaskSplit& split, const LabelledTask& task)
      : TaskAnswers(split, task), probabilities_(split.texts.size()) {}

  void add(std::span<const Sample* const> samples, const torch::Tensor& predicted_BL) override {
    for_each_row(samples, predicted_BL,
                 [&](std::size_t i, std::span<const float> row) { probabilities_[i].assign(row.begin(), row.end()); });
  }

 protected:
  // `object` with the probabilities of text `i` by label.
  nlohmann::ordered_json with_probabilities(nlohmann::ordered_json object, std::size_t i) const {
    for (std::size_t label = 0; label < task_.labels.size(); ++label) {
      object["probabilities"][task_.labels[label]] = probabilities_[i][label];
    }
    return object;
  }

  std::vector<std::vector<double>> probabilities_;  // of every text and label
};

// The most probable label of each text.
class ClassificationAnswers : public LabelProbabilities {
 public:
  using LabelProbabilities::LabelProbabilities;

  std::vector<NamedMeasure> measures() const override {
    std::vector<std::int64_t> predicted, gold;
    for (std::size_t i = 0; i < probabilities_.size(); ++i) {
      predicted.push_back(best(i));
      gold.push_back(split_.texts[i].gold.label.value());
    }
    const auto num_labels = std::ssize(task_.labels);
    const auto positive = std::ranges::find(task_.labels, task_.positive) - task_.labels.begin();
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

  std::string text(std::size_t i) const override { return task_.labels[best(i)]; }
  std::optional<double> probability(std::size_t i) const override { return probabilities_[i][best(i)]; }
  nlohmann::ordered_json json(std::size_t i) const override { return with_probabilities({{"label", text(i)}}, i); }
  std::vector<Decision> decisions(std::size_t i) const override {
    const std::size_t gold = split_.texts[i].gold.label.value(), predicted = best(i);
    return {{.gold = gold, .predicted = predicted, .probability = *probability(i), .right = predicted == gold}};
  }

  void read(const std::string& file) override {
    read_lines(file, [&](std::size_t i, const Gold& given) {
      probabilities_[i].assign(task_.labels.size(), 0);
      probabilities_[i][given.label.value()] = 1;
    });
  }

 private:
  std::size_t best(std::size_t i) const {
    return std::ranges::max_element(probabilities_[i]) - probabilities_[i].begin();
  }
};

// The labels of each text with a probability above 0.5.
class MultiLabelAnswers : public LabelProbabilities {
 public:
  using LabelProbabilities::LabelProbabilities;

  // Micro-averaged F1; accuracy counts the texts whose labels are all right.
  std::vector<NamedMeasure> measures() const override {
    std::vector<std::vector<std::int64_t>> predicted, gold;
    for (std::size_t i = 0; i < probabilities_.size(); ++i) {
      std::vector<std::int64_t>& p = predicted.emplace_back();
      for (const double probability : probabilities_[i]) p.push_back(is_given(probability));
      gold.emplace_back(split_.texts[i].gold.labels.begin(), split_.texts[i].gold.labels.end());
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

  std::string text(std::size_t i) const override { return fmt::format("{}", fmt::join(given(i), task_.separator)); }
  nlohmann::ordered_json json(std::size_t i) const override { return with_probabilities({{"labels", given(i)}}, i); }
  std::vector<Decision> decisions(std::size_t i) const override {
    std::vector<Decision> all;
    for (std::size_t label = 0; label < task_.labels.size(); ++label) {
      const double p = probabilities_[i][label];
      all.push_back(
          {.probability = std::max(p, 1 - p), .right = is_given(p) == (split_.texts[i].gold.labels[label] > 0)});
    }
    return all;
  }

  void read(const std::string& file) override {
    read_lines(file, [&](std::size_t i, const Gold& given) {
      probabilities_[i].assign(given.labels.begin(), given.labels.end());
    });
  }

 private:
  static bool is_given(double probability) { return probability > 0.5; }

  std::vector<std::string> given(std::size_t i) const {
    std::vector<std::string> labels;
    for (std::size_t label = 0; label < task_.labels.size(); ++label) {
      if (is_given(probabilities_[i][label])) labels.push_back(task_.labels[label]);
    }
    return labels;
  }
};

// A number for each text.
class RegressionAnswers : public TaskAnswers {
 public:
  RegressionAnswers(const TaskSplit& split, const LabelledTask& task)
      : TaskAnswers(split, task), numbers_(split.texts.size()) {}

  void add(std::span<const Sample* const> samples, const torch::Tensor& predicted_B1) override {
    for_each_row(samples, predicted_B1,
                 [&](std::size_t i, std::span<const float> row) { numbers_[i] = static_cast<double>(row.front()); });
  }

  std::vector<NamedMeasure> measures() const override {
    std::vector<double> gold;
    for (const LabelledText& text : split_.texts) gold.push_back(text.gold.number.value());
    return {{"pearson", [=, p = numbers_](Subset s) { return metrics::pearson(chosen(p, s), chosen(gold, s)); }},
            {"spearman", [=, p = numbers_](Subset s) { return metrics::spearman(chosen(p, s), chosen(gold, s)); }}};
  }

  std::string text(std::size_t i) const override { return fmt::format("{:.3f}", numbers_[i]); }
  nlohmann::ordered_json json(std::size_t i) const override { return {{"number", numbers_[i]}}; }
  void read(const std::string& file) override {
    read_lines(file, [&](std::size_t i, const Gold& given) { numbers_[i] = given.number.value(); });
  }

 private:
  std::vector<double> numbers_;
};

// The answer to a question and its alternatives.
struct SpanAnswer {
  struct Candidate {
    std::string text;        // verbatim from the context
    double score = 0;        // the logits of begin and end
    double probability = 0;  // among the candidates
  };
  std::vector<Candidate> candidates = {};  // best first, different texts; none where the context is empty
  double no_answer = 0;                    // score of no answer minus that of the best one
};

// The number of begins and of ends of a window that are combined, and of answers whose probabilities sum to 1
// (n_best_size in the script of SQuAD's baseline).
constexpr std::size_t kTried = 20;

// A span of a window.
struct ScoredSpan {
  double score = 0;
  std::size_t first = 0, last = 0;  // pieces of the context
};

// The `count` largest of numbers[from … to), best first.
std::vector<std::size_t> largest(std::span<const float> numbers, std::size_t from, std::size_t to, std::size_t count) {
  std::vector<std::size_t> places(to - from);
  std::iota(places.begin(), places.end(), from);
  const auto kept = places.begin() + std::min(count, places.size());
  std::partial_sort(places.begin(), kept, places.end(), [&](std::size_t a, std::size_t b) {
    return numbers[a] != numbers[b] ? numbers[a] > numbers[b] : a < b;
  });
  places.erase(kept, places.end());
  return places;
}

void gather(const Sample& window, std::span<const float> begin, std::span<const float> end, const AnswerConfig& config,
            std::vector<ScoredSpan>& candidates) {
  const std::size_t from = window.first, to = window.ids.size() - 1;
  const std::vector<std::size_t> ends = largest(end, from, to, kTried);
  for (const std::size_t b : largest(begin, from, to, kTried)) {
    for (const std::size_t e : ends) {
      if (e < b || e - b + 1 > static_cast<std::size_t>(config.max_answer)) continue;
      candidates.push_back({.score = static_cast<double>(begin[b]) + static_cast<double>(end[e]),
                            .first = window.skipped + b - from,
                            .last = window.skipped + e - from});
    }
  }
}

SpanAnswer choose(std::vector<ScoredSpan>& candidates, double null_score, const std::string& context,
                  const std::vector<Piece>& pieces) {
  std::ranges::stable_sort(candidates, std::greater<>(), &ScoredSpan::score);
  SpanAnswer answer;
  std::set<std::string> seen;
  for (const ScoredSpan& candidate : candidates) {
    if (answer.candidates.size() == kTried) break;
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

std::vector<std::string> texts_of(const Question& question) {
  std::vector<std::string> texts;
  texts.reserve(question.answers.size());
  for (const Answer& answer : question.answers) texts.push_back(answer.text);
  return texts;
}

// The best span of each question's context, of all of its windows.
class SpanAnswers : public TaskAnswers {
 public:
  SpanAnswers(const TaskSplit& split, const LabelledTask& task, const AnswerConfig& config)
      : TaskAnswers(split, task), config_(config), candidates_(split.size()), null_scores_(split.size(), kNone) {}

  void add(std::span<const Sample* const> samples, const torch::Tensor& predicted_M2) override {
    const at::Tensor columns = predicted_M2.t().contiguous();
    const std::size_t rows = columns.size(1);
    const auto* numbers = columns.const_data_ptr<float>();
    std::size_t row = 0;
    for (const Sample* window : samples) {
      const std::size_t length = window->ids.size();
      const std::span begin(numbers + row, length), end(numbers + rows + row, length);
      gather(*window, begin, end, config_, candidates_[window->example]);
      double& null_score = null_scores_[window->example];
      null_score = std::min(null_score, static_cast<double>(begin[0]) + static_cast<double>(end[0]));
      row += length;
    }
  }

  void finish() override {
    for (std::size_t q = 0; q < candidates_.size(); ++q) {
      const std::size_t context = split_.questions.questions[q].context;
      answers_.push_back(
          choose(candidates_[q], null_scores_[q], split_.questions.contexts[context], split_.contexts[context]));
    }
  }

  // As computed by the script for the file's version of SQuAD.
  std::vector<NamedMeasure> measures() const override {
    std::vector<double> exact, f1;
    const bool none = split_.questions.may_lack_answers;
    for (std::size_t q = 0; q < answers_.size(); ++q) {
      const std::vector<std::string> gold = texts_of(split_.questions.questions[q]);
      const std::string answer = given(answers_[q], none);
      const metrics::AnswerScore score = none ? metrics::score_answer_or_none(answer, gold)
                                         : gold.empty()
                                             ? metrics::AnswerScore()  // there is no gold answer: none can be right
                                             : metrics::score_answer(answer, gold);
      exact.push_back(score.exact);
      f1.push_back(score.f1);
    }
    const auto mean = [](const std::vector<double>& values, Subset subset) {
      double sum = 0;
      for (const std::size_t i : subset) sum += values[i];
      return sum / static_cast<double>(subset.size());
    };
    return {{"f1", [=](Subset s) { return mean(f1, s); }}, {"exact", [=](Subset s) { return mean(exact, s); }}};
  }

  std::optional<metrics::BestThreshold> best_null_threshold() const override {
    if (!split_.questions.may_lack_answers) return std::nullopt;
    std::vector<metrics::NoAnswerQuestion> questions;
    for (std::size_t q = 0; q < answers_.size(); ++q) {
      const std::vector<std::string> gold = texts_of(split_.questions.questions[q]);
      const std::string answer = given(answers_[q], /*may_lack_answers=*/false);
      questions.push_back({.no_answer = answers_[q].no_answer,
                           .has_answer = !gold.empty(),
                           .answered = !answer.empty(),
                           .score = metrics::score_answer_or_none(answer, gold).f1});
    }
    metrics::BestThreshold best = metrics::best_threshold(std::move(questions));
    best.mean *= 100;
    return best;
  }

  std::string text(std::size_t i) const override { return given(answers_[i], task_.may_lack_answers); }
  std::optional<double> probability(std::size_t i) const override {
    if (text(i).empty()) return std::nullopt;
    return answers_[i].candidates[0].probability;
  }
  nlohmann::ordered_json json(std::size_t i) const override {
    nlohmann::ordered_json object = {
        {"answer", text(i)}, {"no_answer", answers_[i].no_answer}, {"nbest", nlohmann::ordered_json::array()}};
    for (const SpanAnswer::Candidate& candidate : answers_[i].candidates | std::views::take(config_.nbest)) {
      object["nbest"].push_back(
          {{"text", candidate.text}, {"probability", candidate.probability}, {"score", candidate.score}});
    }
    return object;
  }
  nlohmann::ordered_json name(std::size_t i) const override { return {{"id", split_.questions.questions[i].id}}; }

  std::vector<Decision> decisions(std::size_t i) const override {
    const auto p = probability(i);
    if (!p) return {};
    const std::vector<std::string> gold = texts_of(split_.questions.questions[i]);
    return {{.probability = *p, .right = !gold.empty() && metrics::score_answer(text(i), gold).exact == 1}};
  }

  void read(const std::string& file) override {
    const nlohmann::json given = read_json(file);
    if (!given.is_object()) {
      throw UserError(file + ": not an object of ids and answers", "give answers as attend predict writes them");
    }
    answers_.resize(static_cast<std::size_t>(split_.size()));
    for (std::size_t q = 0; q < answers_.size(); ++q) {
      const std::string& id = split_.questions.questions[q].id;
      const auto answer = given.find(id);
      if (answer == given.end() || !answer->is_string()) {
        throw UserError(file + ": no answer to the question " + id + " of " + split_.file,
                        "give an answer, or an empty text, for each question");
      }
      if (const auto text = answer->get<std::string>(); !text.empty()) answers_[q].candidates = {{.text = text}};
    }
    check_count(file, std::ssize(given));
  }

  // SQuAD's: an object of ids and answers.
  void write(std::ostream& out) const override {
    nlohmann::ordered_json object;
    for (std::size_t q = 0; q < answers_.size(); ++q) object[split_.questions.questions[q].id] = text(q);
    out << object.dump(1) << '\n';
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  // The best candidate, or an empty text if the question may lack an answer and that is likelier.
  std::string given(const SpanAnswer& answer, bool may_lack_answers) const {
    if (answer.candidates.empty() || (may_lack_answers && answer.no_answer > config_.null_threshold)) return "";
    return answer.candidates.front().text;
  }

  AnswerConfig config_;
  std::vector<std::vector<ScoredSpan>> candidates_;
  std::vector<double> null_scores_;
  std::vector<SpanAnswer> answers_ = {};
};

using metrics::ChunkTally;

// The most probable tag of every word of each sentence.
class TagAnswers : public TaskAnswers {
 public:
  TagAnswers(const TaskSplit& split, const LabelledTask& task) : TaskAnswers(split, task) {
    for (const TaggedSentence& sentence : split.sentences) {
      tags_.emplace_back(sentence.tokens.size());
      probabilities_.emplace_back(sentence.tokens.size());
    }
  }

  void add(std::span<const Sample* const> samples, const torch::Tensor& predicted_KL) override {
    const auto [probability_K, tag_K] = predicted_KL.max(1);
    const auto* tag = tag_K.const_data_ptr<std::int64_t>();
    const auto* probability = probability_K.const_data_ptr<float>();
    for (const Sample* sample : samples) {
      for (std::size_t word = 0; word < sample->words.size(); ++word) {
        tags_[sample->example][sample->skipped + word] = task_.labels[*tag++];
        probabilities_[sample->example][sample->skipped + word] = static_cast<double>(*probability++);
      }
    }
  }

  // F1, precision and recall of chunks as in conlleval; accuracy of tags.
  std::vector<NamedMeasure> measures() const override {
    const auto tally = tally_of();
    const NamedMeasure accuracy{"accuracy", [=](Subset s) { return tally(s).token_accuracy(); }};
    if (!task_.chunks) return {accuracy};
    return {{"f1", [=](Subset s) { return tally(s).total().f1(); }},
            {"precision", [=](Subset s) { return tally(s).total().precision(); }},
            {"recall", [=](Subset s) { return tally(s).total().recall(); }},
            accuracy};
  }

  std::string text(std::size_t i) const override { return fmt::format("{}", fmt::join(tags_[i], " ")); }
  nlohmann::ordered_json json(std::size_t i) const override {
    return {{"tokens", split_.sentences[i].tokens}, {"tags", tags_[i]}, {"probabilities", probabilities_[i]}};
  }

  std::vector<Decision> decisions(std::size_t i) const override {
    std::vector<Decision> all;
    const std::vector<std::string>& gold = split_.sentences[i].tags;
    for (std::size_t word = 0; word < gold.size(); ++word) {
      all.push_back({.gold = number_of_label(gold[word], task_, {}),
                     .predicted = number_of_label(tags_[i][word], task_, {}),
                     .probability = probabilities_[i][word],
                     .right = tags_[i][word] == gold[word]});
    }
    return all;
  }

  void read(const std::string& file) override {
    const std::vector<TaggedSentence> given = read_conll(file, {.number = 0, .chunks = false}, Labelled::yes);
    check_count(file, std::ssize(given));
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].tokens != split_.sentences[i].tokens) {
        throw UserError(fmt::format("{}:{}: a sentence of other words than that in {}:{}", file, given[i].line,
                                    split_.file, split_.sentences[i].line),
                        "give the tags of the words of the test file");
      }
      for (std::size_t word = 0; word < given[i].tags.size(); ++word) {
        tags_[i][word] = given[i].tags[word];
        number_of_label(tags_[i][word], task_, fmt::format("{}:{}: ", file, given[i].line + word));  // throws
      }
    }
  }

  // CoNLL's: a word and its tag per line.
  void write(std::ostream& out) const override {
    for (std::size_t i = 0; i < tags_.size(); ++i) {
      const TaggedSentence& sentence = split_.sentences[i];
      if (sentence.after_mark) out << "-DOCSTART- O\n\n";
      for (std::size_t word = 0; word < tags_[i].size(); ++word) {
        out << sentence.tokens[word] << ' ' << tags_[i][word] << '\n';
      }
      out << '\n';
    }
  }

 private:
  // Sums the tallies of the sentences of a subset.
  std::function<ChunkTally(Subset)> tally_of() const {
    std::vector<ChunkTally> tallies(tags_.size());
    for (std::size_t i = 0; i < tallies.size(); ++i) tallies[i].add(tags_[i], split_.sentences[i].tags);
    return [tallies = std::move(tallies)](Subset subset) {
      ChunkTally sum;
      for (const std::size_t i : subset) sum.add(tallies[i]);
      return sum;
    };
  }

  std::vector<std::vector<std::string>> tags_;      // of every sentence and word
  std::vector<std::vector<double>> probabilities_;  // of these
};

}  // namespace

std::unique_ptr<TaskAnswers> make_answers(const TaskSplit& split, const LabelledTask& task,
                                          const AnswerConfig& config) {
  switch (task.kind) {
    case TaskKind::classification: return std::make_unique<ClassificationAnswers>(split, task);
    case TaskKind::multi_label: return std::make_unique<MultiLabelAnswers>(split, task);
    case TaskKind::regression: return std::make_unique<RegressionAnswers>(split, task);
    case TaskKind::spans: return std::make_unique<SpanAnswers>(split, task, config);
    case TaskKind::tags: return std::make_unique<TagAnswers>(split, task);
  }
  ensure(false, "a known kind of task");
  return nullptr;
}

}  // namespace attend
