#include "analysis/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace attend {
namespace {

constexpr std::int64_t kCalibrationBins = 10;

}  // namespace

Calibration calibration(std::span<const TargetScore> reference) {
  std::array<CalibrationBin, kCalibrationBins> sums;
  std::int64_t total = 0;
  for (const TargetScore& sentence : reference) {
    for (const ForcedPiece& piece : sentence.pieces) {
      if (!std::isfinite(piece.best_log_prob)) continue;
      const double confidence = std::exp(piece.best_log_prob);
      const auto upper = static_cast<std::int64_t>(std::ceil(confidence * kCalibrationBins));
      CalibrationBin& bin = sums[std::clamp<std::int64_t>(upper, 1, kCalibrationBins) - 1];
      bin.confidence += confidence;
      bin.accuracy += piece.is_best ? 1 : 0;
      ++bin.count;
      ++total;
    }
  }
  Calibration result;
  for (CalibrationBin bin : sums) {
    if (bin.count == 0) continue;
    const auto count = static_cast<double>(bin.count);
    bin.confidence /= count;
    bin.accuracy /= count;
    result.expected_error += std::abs(bin.accuracy - bin.confidence) * count / static_cast<double>(total);
    result.bins.push_back(bin);
  }
  return result;
}

}  // namespace attend
