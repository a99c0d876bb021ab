#include "eval/answers/answers.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "data/batch/batch.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"
#include "data/text/table.hpp"
#include "models/run/kind.hpp"
#include "models/text/text_model.hpp"

namespace attend {
namespace {

constexpr std::string_view kTableHeading = "index\tprediction";

}  // namespace

void adopt_answers(AnswerConfig& answers, const std::filesystem::path& run, const OptionOrigins& origins) {
  auto theirs = read_config<AnswerConfig>(run_of_best_seed(run) / "config.toml", UnknownKeys::ignore);
  adopt_options(bind(answers), bind(theirs), origins);
}

nlohmann::ordered_json TaskAnswers::name(std::size_t i) const { return {{"index", i}}; }

void TaskAnswers::read_lines(const std::string& file, const std::function<void(std::size_t, const Gold&)>& take) const {
  LineReader reader(file);
  std::string line;
  bool more = reader.next(line);
  const bool is_table = more && line == kTableHeading;
  if (is_table) more = reader.next(line);
  std::int64_t count = 0;
  for (; more; more = reader.next(line), ++count) {
    if (count >= split_.size()) continue;
    const std::vector<std::string> parts = split_at(line, '\t');
    const std::string& answer = is_table ? parts.back() : parts.front();
    take(count, format_of(task_.kind).gold_of(answer, task_, reader.place() + ": "));
  }
  check_count(file, count);
}

void TaskAnswers::check_count(const std::string& file, std::int64_t answers) const {
  if (answers == split_.size()) return;
  throw UserError(
      file + ": " + counted(answers, "answer") + ", but " + split_.file + " has " + counted(split_.size(), "record"),
      "give an answer to each record, in their order");
}

void TaskAnswers::write(std::ostream& out) const {
  out << kTableHeading << '\n';
  for (std::size_t i = 0; i < static_cast<std::size_t>(split_.size()); ++i) out << i << '\t' << text(i) << '\n';
}

std::unique_ptr<TaskAnswers> answer(const TextModelImpl& model, const TaskSplit& split, const LabelledTask& task,
                                    const AnswerConfig& config, torch::Device device, Labelled labelled,
                                    WorkProgress* progress) {
  const torch::NoGradGuard no_grad;
  std::unique_ptr<TaskAnswers> answers = make_answers(split, task, config);
  double loss = 0;
  std::int64_t count = 0;
  std::vector<bool> is_counted(split.size());  // a record may have several samples
  for (const std::vector<const Sample*>& samples : batches_by_length(split.samples)) {
    signals::throw_if_stopped("stopped before all records were answered");
    const LabelledBatch batch = on_device(make_labelled_batch(samples), device);
    Pass pass = Pass::inference();
    const at::Tensor logits = model.logits(batch, pass);
    if (labelled == Labelled::yes) {
      loss += model.head().loss(logits, batch, {}).item<double>();
      count += model.head().count(batch);
    }
    answers->add(samples, model.head().predict(logits).cpu());
    return_freed_memory();
    if (progress == nullptr) continue;
    std::int64_t records = 0;
    for (const Sample* sample : samples) {
      const std::size_t record = sample->example;
      records += is_counted[record] ? 0 : 1;
      is_counted[record] = true;
    }
    progress->add(records);
  }
  answers->finish();
  if (count > 0) answers->loss = loss / static_cast<double>(count);
  return answers;
}

std::vector<MetricValue> score(const TaskAnswers& answers, bool with_intervals) {
  using Subset = NamedMeasure::Subset;
  const std::vector<NamedMeasure> measures = answers.measures();
  const LabelledTask& task = answers.task();
  std::vector<std::size_t> all(answers.split().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::string_view> wanted(task.metrics.begin(), task.metrics.end());
  if (wanted.empty()) wanted = format_of(task.kind).default_metrics(task);
  const auto mean = [&](Subset subset) {
    double sum = 0;
    for (const std::string_view name : wanted) {
      sum += std::ranges::find(measures, name, &NamedMeasure::name)->of(subset);
    }
    return sum / static_cast<double>(wanted.size());
  };
  const auto value = [&](const std::string& name, const std::function<double(Subset)>& measure) {
    const auto percent = [&](Subset subset) { return 100 * measure(subset); };
    MetricValue metric{.name = name, .value = percent(all), .interval = {}};
    if (with_intervals) metric.interval = metrics::bootstrap(all.size(), percent);
    return metric;
  };
  std::vector<MetricValue> result;
  for (const NamedMeasure& named : measures) {
    result.push_back(value(named.name, named.of));
    if (!std::isnan(result.back().value)) continue;
    log::warn("{}: {} has no value where all answers or all labels are alike", answers.split().file, named.name);
  }
  result.push_back(value("score", mean));
  return result;
}

}  // namespace attend
