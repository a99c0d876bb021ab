#include "eval/rerank.hpp"

#include <algorithm>
#include <functional>

#include "data/text/factors.hpp"

namespace attend {
namespace {

// A blank line is not searched and has nothing to rescore.
bool is_of_blank(const Translation& translation) { return translation.hypothesis.token_log_probs.empty(); }

}  // namespace

void rerank(const Run& run, const RerankConfig& config, const ScoreConfig& scoring,
            const std::vector<std::string>& lines, std::vector<std::vector<Translation>>& translations) {
  std::vector<std::string> sources, targets;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const Translation& translation : translations[i]) {
      if (is_of_blank(translation)) continue;
      sources.emplace_back(text_of_line(lines[i]));
      targets.push_back(translation.text);
    }
  }
  if (config.rerank_direction == RerankDirection::reverse) std::swap(sources, targets);
  const std::vector<TargetScore> scores = score(run, sources, targets, scoring);
  auto next = scores.begin();
  for (std::vector<Translation>& of_line : translations) {
    for (Translation& translation : of_line) {
      if (is_of_blank(translation)) continue;
      const double by_piece = next->log_prob() / static_cast<double>(next->pieces.size());
      translation.hypothesis.score += config.rerank_weight * by_piece;
      ++next;
    }
    std::ranges::stable_sort(of_line, std::greater(),
                             [](const Translation& translation) { return translation.hypothesis.score; });
  }
}

}  // namespace attend
