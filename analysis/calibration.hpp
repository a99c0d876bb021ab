// Calibration: of the pieces that a well calibrated model predicts with probability 0.7, 7 in 10 are those of the
// reference. Positions are binned by the probability of the likeliest piece (the confidence); the accuracy of a bin is
// the share of positions where that piece is the reference's. The expected calibration error is the mean of |accuracy -
// confidence| over positions (Guo et al. 2017, arXiv 1706.04599, eq. 3; for translation Müller et al. 2019, arXiv
// 1906.02629).
//
//   four positions, likeliest pieces of 0.95 (right), 0.92 (right), 0.55 (right), 0.55 (wrong)
//   bins {0.935, 1, 2} and {0.55, 0.5, 2}, error (2 * 0.065 + 2 * 0.05) / 4 = 0.0575
#pragma once

#include <span>

#include "analysis/report/comparison.hpp"
#include "eval/score.hpp"

namespace attend {

// Calibration over the reference under teacher forcing, ends of sentences included. The bins are (0, 0.1], (0.1, 0.2],
// … in this order, without empty ones. Positions whose log-probability is not finite are left out.
Calibration calibration(std::span<const TargetScore> reference);

}  // namespace attend
