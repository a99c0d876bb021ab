#include "eval/search/strategy.hpp"

#include <algorithm>

#include "eval/search/beam.hpp"
#include "eval/search/constrained_beam.hpp"
#include "eval/search/diverse_beam.hpp"
#include "eval/search/sampling.hpp"

namespace attend {

Live continued(const Live& parent, std::int64_t row, const NextToken& token, const TargetIds& ids) {
  Live live = parent;
  live.parent = row;
  if (token.id != ids.eos) live.ids.push_back(static_cast<std::int32_t>(token.id));
  live.token_log_probs.push_back(token.log_prob);
  live.log_prob += token.log_prob;
  live.score += token.score;
  return live;
}

Hypothesis completed(Live live, bool ended, const SearchConfig& config) {
  const double length = std::max(1.0, static_cast<double>(live.ids.size() + (ended ? 1 : 0)));
  return {.ids = std::move(live.ids),
          .token_log_probs = std::move(live.token_log_probs),
          .log_prob = live.log_prob,
          .score = live.score / config.length_norm(length) + config.coverage_penalty * live.coverage,
          .ended = ended,
          .group = live.group};
}

std::unique_ptr<const Strategy> make_strategy(const SearchConfig& config, const TargetIds& ids,
                                              std::span<const Wanted> wanted) {
  if (config.sample > 0) return std::make_unique<Sampling>(config, ids);
  if (std::ranges::any_of(wanted, [](const Wanted& one) { return !one.constraints.empty(); })) {
    return std::make_unique<ConstrainedBeam>(config, ids);
  }
  if (config.diverse_groups > 0) return std::make_unique<DiverseBeam>(config, ids);
  return std::make_unique<Beam>(config, ids);
}

}  // namespace attend
