#include "eval/answers/scores.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/log.hpp"
#include "data/task/record_format.hpp"

namespace attend {

std::vector<MetricValue> score(const TaskAnswers& answers, bool with_intervals) {
  using Subset = NamedMeasure::Subset;
  const std::vector<NamedMeasure> measures = answers.measures();
  const LabelledTask& task = answers.task();
  std::vector<std::size_t> all(static_cast<std::size_t>(answers.split().size()));
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
    MetricValue metric{.name = name, .value = measure(all), .interval = {}};
    if (with_intervals) metric.interval = metrics::bootstrap(all.size(), measure);
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
