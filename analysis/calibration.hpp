// Whether a model's probabilities are shares: of the pieces that it expects with probability 0.7, are 7 in 10 those of
// the reference? Positions are put into bins by the probability of the likeliest piece (the confidence); a bin's
// accuracy is how often that piece is the reference's. The expected calibration error is the mean of
// |accuracy - confidence| over positions (Guo et al. 2017, arXiv 1706.04599, eq. 3; of translation Müller et al. 2019,
// arXiv 1906.02629).
//
//   four positions, likeliest pieces of 0.95 (right), 0.92 (right), 0.55 (right), 0.55 (wrong)
//   bins {0.935, 1, 2} and {0.55, 0.5, 2}, error (2 * 0.065 + 2 * 0.05) / 4 = 0.0575
#pragma once

#include <span>

#include "analysis/report/comparison.hpp"
#include "eval/score.hpp"

namespace attend {

inline constexpr std::int64_t kCalibrationBins = 10;

// Of the reference under teacher forcing, ends of sentences included. Bins are (0, 0.1], (0.1, 0.2], … in this order,
// without the empty ones. Positions of which the model says nothing finite are left out.
Calibration calibration(std::span<const TargetScore> reference);

}  // namespace attend
