// Pretraining in phases: short sequences for most of the updates and long ones at the end (arXiv 1810.04805, appendix
// A.2), or small batches first, then larger ones.
//
//   --phase 128:90% --phase 512:10%                                       two lengths
//   --phase 128@1024:5% --phase 128@2048:5% --phase 128@4096:90%          growing batches
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attend {

struct Phase {
  std::int64_t length = 0;      // tokens of a sequence
  std::int64_t max_tokens = 0;  // of a batch
  double end = 1;               // share of all updates after which the next phase starts
  bool pairs = true;            // false: single segments, even if the objective has pairs
};

// Parses phases as above, LENGTH[@MAX-TOKENS]:SHARE%; at least one. `max_tokens` is the default. Throws UserError,
// named by `origin`, for an invalid phase, shares that do not sum to 100%, and a batch too small for a sequence.
std::vector<Phase> parse_phases(const std::vector<std::string>& texts, const std::string& origin,
                                std::int64_t max_tokens);

// Sequences of 16, then 32 tokens (if shorter than `length`) for three quarters and one quarter of the fraction `share`
// of the updates, then of `length`. In a 16-token sequence even uniform attention gives each neighbour 1/16 of its
// weight, a gradient large enough to start from. Short phases have no sentence pairs, whose parts would be only a few
// words.
std::vector<Phase> short_first(double share, std::int64_t length, std::int64_t max_tokens);

}  // namespace attend
