#include "analysis/beams.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "data/text/lines.hpp"

namespace attend {

std::vector<BeamPoint> beam_points(const Run& run, const std::vector<std::string>& source,
                                   const std::vector<std::string>& reference, const metrics::Metric& metric,
                                   TranslatorConfig config, WorkProgress* progress) {
  ensure(source.size() == reference.size() && !source.empty(), "a reference for every line");
  std::vector<BeamPoint> points;
  config.search.nbest = 1;
  config.search.sample = 0;
  config.mbr = 0;
  for (const std::int64_t beam : kComparedBeams) {
    config.search.beam = beam;
    const auto translations = Translator(*run.model, run.tokenizers, config, progress).translate(source);
    metrics::Tally tally(metric);
    double log_prob = 0, searched = 0;
    for (std::size_t i = 0; i < source.size(); ++i) {
      const Translation& best = translations[i].front();
      tally.add(best.text, {reference[i]});
      log_prob += best.hypothesis.log_prob;
      searched += is_blank(source[i]) ? 0 : 1;
    }
    points.push_back({.beam = beam, .score = tally.value(), .log_prob = log_prob / std::max(searched, 1.0)});
  }
  return points;
}

}  // namespace attend
