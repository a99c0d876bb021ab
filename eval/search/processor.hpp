// A logits processor: changes the scores by which search chooses the next token of a hypothesis. The probabilities that
// are reported remain those of the model.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "eval/search/config.hpp"
#include "eval/search/hypothesis.hpp"

namespace attend {

class LogitsProcessor {
 public:
  virtual ~LogitsProcessor() = default;
  // Changes the scores of the next token [V] of one hypothesis: log p, as earlier processors left it; -infinity: the
  // token cannot follow. Called by one thread at a time.
  virtual void apply(const OpenSentence& sentence, const Live& live, std::span<float> scores_V) const = 0;
};

using LogitsProcessors = std::vector<std::unique_ptr<const LogitsProcessor>>;

// The processors that the options, prefixes, forbidden phrases and stops ask for, in the order in which they are
// applied; usually none.
LogitsProcessors make_processors(const SearchConfig& config, const TargetIds& ids, std::span<const Wanted> wanted);

}  // namespace attend
