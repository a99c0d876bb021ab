// A logits processor: changes the scores by which search chooses the next token of a hypothesis. The probabilities that
// are reported remain those of the model.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "eval/search/config.hpp"
#include "eval/search/hypothesis.hpp"

namespace attend {

// Changes the scores of the next token [V] of one hypothesis: log p, as earlier processors left it. Called by one
// thread at a time.
using LogitsProcessor = std::function<void(const OpenSentence& sentence, const Live& live, std::span<float> scores_V)>;
using LogitsProcessors = std::vector<LogitsProcessor>;

// The score of a token that cannot follow.
inline constexpr float kExcluded = -std::numeric_limits<float>::infinity();

// The processors for the options, prefixes, forbidden phrases and stops, in the order in which they are applied;
// usually none.
LogitsProcessors make_processors(const SearchConfig& config, const TargetIds& ids, std::span<const Wanted> wanted);

}  // namespace attend
