// What a wider beam gains: BLEU, and how likely the model finds what it says. Wider search finds likelier translations;
// that BLEU falls nevertheless is the fault of the model (Koehn and Knowles 2017, arXiv 1706.03872, section 3.6).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

inline constexpr std::array<std::int64_t, 5> kComparedBeams = {1, 2, 4, 8, 16};

// The source lines translated with every one of these beams, and with `config` but for its beam and nbest. BLEU as
// `attend evaluate` computes it; the log-probability is not divided by a length. Interrupted after SIGINT or SIGTERM.
std::vector<BeamPoint> beam_points(const Run& run, std::span<const std::string> source,
                                   std::span<const std::string> reference, TranslatorConfig config);

}  // namespace attend
