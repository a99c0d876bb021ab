// Recall of words that depend on each other over a distance, from sure gold links: a source word with links to several
// target words stands for a verb in parts ("ruft … an", "hat … gerufen"), of which the last must agree with the first.
//
//   source "he calls her"   target "er ruft sie an"   gold 0-0 1-1 1-3 2-2     the pair ruft, an at distance 2
//
// A system translates a pair if its output has the first word and, anywhere after it, the last one; case and the
// punctuation around words are ignored.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "data/text/word_alignment.hpp"

namespace attend {

// The share of pairs that each system translates, in percent, by distance in words: 1, 2 to 3, 4 to 6, 7 to 10, 11 and
// more; groups without pairs are left out. outputs[system][line]; intervals are those of recall_by_group().
Breakdown recall_of_distant_pairs(const std::vector<std::string>& reference,
                                  const std::vector<std::vector<std::string>>& outputs,
                                  const std::vector<SentenceLinks>& gold);

}  // namespace attend
