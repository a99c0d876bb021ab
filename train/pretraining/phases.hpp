// A pretraining in phases: short sequences for most of the updates, long ones at the end (arXiv 1810.04805, appendix
// A.2), or small batches first and larger ones then.
//
//   --phase 128:90% --phase 512:10%                                       two lengths
//   --phase 128@1024:5% --phase 128@2048:5% --phase 128@4096:90%          a ramp of the batch
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attend {

struct Phase {
  std::int64_t length = 0;      // tokens of a sequence
  std::int64_t max_tokens = 0;  // of a batch
  double end = 1;               // the share of all updates after which the next one begins
  bool pairs = true;            // false: sequences of one part, also where pairs are learnt
};

// Phases as written above, LENGTH[@MAX-TOKENS]:SHARE%; at least one. `origin`
// says where they were given. UserError for what does not read so, for shares that are not 100% together, and for a
// batch without room for a sequence.
std::vector<Phase> parse_phases(const std::vector<std::string>& texts, const std::string& origin,
                                std::int64_t max_tokens);

// Sequences of 16 and then 32 tokens, as far as they are shorter than `length`, for three and one quarter of `share` of
// the updates; of `length` from then on. An attention that looks everywhere alike gives a neighbour a sixteenth of
// itself there, enough to learn from; two parts would be a few words each.
std::vector<Phase> short_first(double share, std::int64_t length, std::int64_t max_tokens);

}  // namespace attend
