// Score and log-probability by the size of the beam. A wider search finds likelier translations; if the score falls
// nevertheless, the model is at fault (Koehn and Knowles 2017, arXiv 1706.03872, section 3.6).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "eval/metrics/metric.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

inline constexpr std::array<std::int64_t, 5> kComparedBeams = {1, 2, 4, 8, 16};

// Translates the source lines with each of these beams and otherwise with `config`, but without its n-best list,
// samples and minimum Bayes risk. The log-probability is not divided by a length, and leaves out blank lines.
// `progress` counts translated sentences. Interrupted after SIGINT or SIGTERM.
std::vector<BeamPoint> beam_points(const Run& run, const std::vector<std::string>& source,
                                   const std::vector<std::string>& reference, const metrics::Metric& metric,
                                   TranslatorConfig config, WorkProgress* progress = nullptr);

}  // namespace attend
