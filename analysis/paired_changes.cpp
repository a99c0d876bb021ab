#include "analysis/paired_changes.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace attend {

metrics::Resamples resamples_for(std::size_t segments, std::size_t tests) {
  constexpr std::size_t kFewest = 1000, kOfTest = 40;  // no p-value is below 1 / samples
  return metrics::draw_resamples(segments, std::max(kFewest, kOfTest * tests));
}

metrics::Rows rows_of(const MeanLoss& measure, const std::vector<SentenceLoss>& losses) {
  metrics::Rows rows(measure);
  for (const SentenceLoss& sentence : losses) {
    if (sentence.pieces == 0) continue;
    rows.append(std::vector<double>{sentence.loss, static_cast<double>(sentence.pieces)});
  }
  return rows;
}

ScoredOutput with_resamples(metrics::Rows rows, const metrics::Resamples& samples) {
  std::vector<double> resampled = metrics::resampled(rows, samples);
  return {.rows = std::move(rows), .resampled = std::move(resampled)};
}

Estimate estimate_of(const ScoredOutput& output) {
  const metrics::Interval interval = metrics::interval_of(output.resampled, output.rows.size());
  return {.value = output.rows.value(), .low = interval.low, .high = interval.high};
}

TestedChange change_between(const ScoredOutput& before, const ScoredOutput& after) {
  const std::size_t segments = before.rows.size();
  std::vector<double> changes(before.resampled.size());
  std::ranges::transform(after.resampled, before.resampled, changes.begin(), std::minus());
  const double change = after.rows.value() - before.rows.value();
  const metrics::Interval interval = metrics::interval_of(std::move(changes), segments);
  const double p = metrics::paired_bootstrap(before.resampled, after.resampled, change, segments);
  return {.change = {change, interval.low, interval.high},
          .p = p,
          .p_is_least = p <= metrics::least_p(before.resampled.size())};
}

PairedChanges::PairedChanges(const metrics::Rows& before, std::size_t count)
    : samples_(resamples_for(before.size(), count)), before_(with_resamples(before, samples_)) {}

std::vector<TestedChange> PairedChanges::tested() const {
  std::vector<TestedChange> result = changes_;
  metrics::correct_by_holm(result, &TestedChange::p);
  return result;
}

}  // namespace attend
