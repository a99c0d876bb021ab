#include "eval/metrics/metric.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/process.hpp"

namespace attend::metrics {

std::string Metric::signature(std::size_t num_references) const {
  const std::string_view release = version().substr(0, version().find(' '));
  return fmt::format("nrefs:{}|{}|version:{}+{}", num_references, settings(), release, equals());
}

nlohmann::ordered_json Metric::parts(std::span<const double>) const { return nlohmann::ordered_json::object(); }

void Rows::append(std::span<const double> row) {
  ensure(row.size() == sum_.size(), "the row has the width of its measure");
  rows_.insert(rows_.end(), row.begin(), row.end());
  for (std::size_t column = 0; column < row.size(); ++column) sum_[column] += row[column];
}

void Tally::add(std::string_view hypothesis, std::span<const std::string_view> references) {
  ensure(!references.empty(), "the segment has a reference");
  append_scored(metric_->statistics(hypothesis, references), references.size());
}

void Tally::append_scored(std::span<const double> row, std::size_t num_references) {
  ensure(num_references_ == 0 || num_references_ == num_references, "every segment has the same number of references");
  num_references_ = num_references;
  append(row);
}

void Tally::merge(const Tally& later) {
  ensure(metric_ == later.metric_, "only tallies of one metric are merged");
  // Add row by row, not sums, so that rounding does not depend on how the corpus was divided.
  for (std::size_t segment = 0; segment < later.size(); ++segment) {
    append_scored(later.row(segment), later.num_references_);
  }
}

std::string Tally::line() const {
  const std::string details = metric_->details(sum());
  return fmt::format("{}|{} = {:.1f}{}{}", metric_->name(), signature(), value(), details.empty() ? "" : " ", details);
}

Tally evaluate(const Metric& metric, std::span<const std::string> hypotheses,
               std::span<const std::vector<std::string>> references, int num_threads) {
  for (const std::vector<std::string>& stream : references) {
    ensure(stream.size() == hypotheses.size(), "every hypothesis has its references");
  }
  const auto score_range = [&](std::size_t begin, std::size_t end) {
    Tally tally(metric);
    std::vector<std::string_view> segment(references.size());
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t r = 0; r < references.size(); ++r) segment[r] = references[r][i];
      tally.add(hypotheses[i], segment);
    }
    return tally;
  };
  Tally tally(metric);
  for (const Tally& part :
       in_parallel(hypotheses.size(), score_range, static_cast<std::size_t>(std::max(num_threads, 1)))) {
    tally.merge(part);
  }
  return tally;
}

}  // namespace attend::metrics
