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
#include "core/signals.hpp"
#include "data/batch/labelled_batch.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

// A span of a window: an answer is the best of the n best begins with the n best ends.
struct ScoredSpan {
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
            std::vector<ScoredSpan>& candidates) {
  const std::size_t from = window.first, to = window.ids.size() - 1;
  const auto count = static_cast<std::size_t>(config.nbest);
  const std::vector<std::size_t> ends = largest(end, from, to, count);
  for (const std::size_t b : largest(begin, from, to, count)) {
    for (const std::size_t e : ends) {
      if (e < b || e - b + 1 > static_cast<std::size_t>(config.max_answer)) continue;
      candidates.push_back({.score = static_cast<double>(begin[b]) + static_cast<double>(end[e]),
                            .first = window.skipped + b - from,
                            .last = window.skipped + e - from});
    }
  }
}

SpanAnswer choose(std::vector<ScoredSpan>& candidates, double null_score, const std::string& context,
                  const std::vector<Piece>& pieces, std::int64_t nbest) {
  std::ranges::stable_sort(candidates, std::greater<>(), &ScoredSpan::score);
  SpanAnswer answer;
  std::set<std::string> seen;
  for (const ScoredSpan& candidate : candidates) {
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
  std::vector<std::vector<ScoredSpan>> candidates_;
  std::vector<double> null_scores_;
};

// What the numbers of a sequence mean: probabilities, or of a regression the number itself.
at::Tensor probabilities(const at::Tensor& answers, TaskKind kind) {
  if (kind == TaskKind::classification) return at::softmax(answers, 1);
  return kind == TaskKind::multi_label ? at::sigmoid(answers) : answers.unsqueeze(1);
}

}  // namespace

TaskAnswers answer(const TextModelImpl& model, const TaskSplit& split, const LabelledTask& task,
                   const AnswerConfig& config, torch::Device device, Labelled labelled) {
  const torch::NoGradGuard no_grad;
  TaskAnswers answers;
  const bool of_texts = is_of_sequences(task.kind);
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
    if (signals::stop_requested()) throw Interrupted("stopped before all was answered");
    const LabelledBatch batch = on_device(make_labelled_batch(samples, task.kind), device);
    Pass pass = Pass::inference();
    const at::Tensor logits = model.answers(batch, pass);
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

}  // namespace attend
