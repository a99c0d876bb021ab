// The interface of translation metrics. A segment (a hypothesis and its references) gives a row of sufficient
// statistics; rows are summed, and the sum gives the score. A corpus can thus be scored in parts, by group, or
// resampled, without processing a sentence twice.
//
//   Bleu bleu;
//   Tally tally(bleu);
//   tally.add("the cat sat on the mat", {{"the cat sat on a mat"}});
//   tally.value();        // 0 to 100
//   tally.line();         // BLEU|nrefs:1|case:mixed|... = 53.7 83.3/...
#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend::metrics {

// A score of a corpus that is computed from the sum of its segments' rows.
class Measure {
 public:
  virtual ~Measure() = default;

  // Number of statistics in a row.
  virtual std::size_t width() const = 0;
  // The score from a sum of rows.
  virtual double value(std::span<const double> statistics) const = 0;
  virtual std::string name() const = 0;
};

// A measure of texts against references, in percent.
class Metric : public Measure {
 public:
  // The row of one segment; `references` must not be empty. Thread-safe.
  virtual std::vector<double> statistics(std::string_view hypothesis,
                                         std::span<const std::string_view> references) const = 0;
  // The score of one segment's row, if computed differently.
  virtual double segment_value(std::span<const double> statistics) const { return value(statistics); }

  // Describes the computation, to make scores comparable: sacreBLEU's signature with attend's version and that of the
  // program whose scores it equals.
  std::string signature(std::size_t num_references) const;
  // The text after the score on a result line.
  virtual std::string details(std::span<const double>) const { return {}; }
  // An object of the numbers from which the score is computed.
  virtual nlohmann::ordered_json parts(std::span<const double> statistics) const;

 protected:
  // The part of the signature between the number of references and the version: "case:mixed|eff:no".
  virtual std::string settings() const = 0;
  virtual std::string_view equals() const { return "sb2.6.0"; }
};

// The segments of a corpus under one measure, which must outlive it.
class Rows {
 public:
  explicit Rows(const Measure& measure) : measure_(&measure), sum_(measure.width()) {}

  void append(std::span<const double> row);

  const Measure& measure() const { return *measure_; }
  std::size_t size() const { return rows_.size() / sum_.size(); }
  std::span<const double> row(std::size_t segment) const {
    return std::span(rows_).subspan(segment * sum_.size(), sum_.size());
  }
  std::span<const double> sum() const { return sum_; }
  double value() const { return measure_->value(sum_); }

 private:
  const Measure* measure_;
  std::vector<double> rows_;  // segment by segment
  std::vector<double> sum_;
};

// The same for texts under one metric.
class Tally : public Rows {
 public:
  explicit Tally(const Metric& metric) : Rows(metric), metric_(&metric) {}

  // All segments of a tally must have the same number of references.
  void add(std::string_view hypothesis, std::span<const std::string_view> references);
  void add(std::string_view hypothesis, std::initializer_list<std::string_view> references) {
    add(hypothesis, std::span(references.begin(), references.size()));
  }
  // Appends the segments of `later`.
  void merge(const Tally& later);

  std::string signature() const { return metric_->signature(num_references_); }
  // "NAME|SIGNATURE = SCORE DETAILS" with one decimal, as sacreBLEU prints it.
  std::string line() const;

 private:
  using Rows::append;
  void append_scored(std::span<const double> row, std::size_t num_references);

  const Metric* metric_;
  std::size_t num_references_ = 0;
};

// Scores a corpus on `num_threads` threads; the result does not depend on their number. references[r][i] is the r-th
// reference of hypothesis i; there is at least one list, and each is as long as `hypotheses`.
Tally evaluate(const Metric& metric, std::span<const std::string> hypotheses,
               std::span<const std::vector<std::string>> references, int num_threads = 1);

}  // namespace attend::metrics
