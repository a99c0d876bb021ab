#include "analysis/paired_changes.hpp"

#include <algorithm>
#include <functional>

namespace attend {
namespace {

// No p-value of the bootstrap is below 1 / samples; corrected for all changes it must be able to fall below 0.05.
constexpr std::size_t kFewestSamples = 1000, kSamplesOfChange = 40;

}  // namespace

metrics::Rows rows_of(const LossByPiece& measure, const std::vector<SentenceLoss>& losses) {
  metrics::Rows rows(measure);
  for (const SentenceLoss& sentence : losses) {
    if (sentence.pieces == 0) continue;
    rows.append(std::vector<double>{sentence.loss, static_cast<double>(sentence.pieces)});
  }
  return rows;
}

PairedChanges::PairedChanges(const metrics::Rows& before, std::size_t count)
    : before_(before),
      samples_(metrics::draw_resamples(before.size(), std::max(kFewestSamples, kSamplesOfChange * count))),
      resampled_(metrics::resampled(before, samples_)) {}

void PairedChanges::add(const metrics::Rows& after) {
  const std::vector<double> resampled = metrics::resampled(after, samples_);
  std::vector<double> changes(resampled.size());
  std::ranges::transform(resampled, resampled_, changes.begin(), std::minus());
  const double change = after.value() - before_.value();
  const metrics::Interval interval = metrics::interval_of(changes, before_.size());
  changes_.push_back({.change = {change, interval.low, interval.high},
                      .p = metrics::paired_bootstrap(resampled_, resampled, change, before_.size())});
}

std::vector<TestedChange> PairedChanges::tested() const {
  std::vector<double> p_values;
  for (const TestedChange& change : changes_) p_values.push_back(change.p);
  const std::vector<double> corrected = metrics::holm(p_values);
  std::vector<TestedChange> result = changes_;
  for (std::size_t i = 0; i < result.size(); ++i) result[i].p_holm = corrected[i];
  return result;
}

}  // namespace attend
