// Scores of sentences by a metric that attend lacks, or by people: COMET, adequacy. A score of a test set is their
// mean.
//
//   COMET of two systems and three sentences, in a file of --scores COMET=FILE:
//
//     0.81 0.79
//     0.64 0.70
//     0.92 0.88       0.79 and 0.79: no difference
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "eval/metrics/metric.hpp"

namespace attend {

class GivenScores : public metrics::Measure {
 public:
  // Reads lines of a number for each output, between white space. UserError naming the file and the line for other
  // lines, numbers that are not finite, and a number of lines that is not `sentences`.
  GivenScores(std::string name, std::string file, std::size_t outputs, std::size_t sentences);

  // Rows of a score and 1.
  std::size_t width() const override { return 2; }
  double value(std::span<const double> statistics) const override { return statistics[0] / statistics[1]; }
  std::string name() const override { return name_; }

  const std::string& file() const { return file_; }
  // Of one output's sentences; refers to this object.
  metrics::Rows rows(std::size_t output) const;
  // So many that scores up to 1 keep four digits: 2, or 4.
  int decimals() const;

 private:
  std::string name_, file_;
  std::vector<std::vector<double>> scores_;  // [sentence][output]
};

}  // namespace attend
