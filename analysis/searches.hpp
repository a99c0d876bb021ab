// Other searches of a compared run, and the sizes of its beam.
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

// Other searches of a run that is compared, each as a system of its own: beams beside samples and minimum Bayes risk.
//
//   --search "greedy = --beam 1" --search "sampled = --sample 1 --top-p 0.9"

struct NamedSearch {
  std::string name;
  std::string options;  // as given: "--beam 1"
  TranslatorConfig translator;
};

// The searches that `words` describe, NAME = OPTIONS, with the values of `base` for options that are not among them.
// UserError naming the search for a word of another form, an unknown option, an invalid value, a contradiction, or a
// name that is given twice.
std::vector<NamedSearch> parse_searches(const std::vector<std::string>& words, const TranslatorConfig& base);

// The best translation of each source sentence.
std::vector<Translation> best_translations(const NamedSearch& search, const TranslationRun& run,
                                           const std::vector<std::string>& sources);

// Score and log-probability by the size of the beam. A wider search finds likelier translations; if the score falls
// nevertheless, the model is at fault (Koehn and Knowles 2017, arXiv 1706.03872, section 3.6).

inline constexpr std::array<std::int64_t, 5> kComparedBeams = {1, 2, 4, 8, 16};

// Translates the source lines with each of these beams and otherwise with `config`, but without its n-best list,
// samples and minimum Bayes risk. The log-probability is not divided by a length, and leaves out blank lines.
// `progress` counts translated sentences. Interrupted after SIGINT or SIGTERM.
std::vector<BeamPoint> beam_points(const TranslationRun& run, const std::vector<std::string>& source,
                                   const std::vector<std::string>& reference, const metrics::Metric& metric,
                                   TranslatorConfig config, WorkProgress* progress = nullptr);

}  // namespace attend
