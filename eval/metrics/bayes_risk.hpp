// Minimum Bayes risk decoding (Kumar and Byrne 2004; with samples as candidates and as references: Eikema and Aziz
// 2020, arXiv 2005.10283): of several translations of a sentence, the one that is most like the others,
//   argmax_h 1/(N - 1) Σ_{r ≠ h} u(h, r),
// where u is the sentence-level score of h with r as its reference. r runs over the other N - 1 translations, among
// which equal ones count as often as they occur.
//
//   {"a dog runs", "a dog ran", "the cat"}   chrF2 prefers "a dog runs" or "a dog ran" to "the cat"
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/options.hpp"

namespace attend::metrics {

// chrF2, and BLEU with 13a tokens, exponential smoothing and effective order.
enum class Utility { chrf, bleu };

struct RankedText {
  std::size_t first = 0;  // index of its first occurrence
  double utility = 0;     // mean over the other texts, in percent; 0 if there are none
};

// The distinct texts, the highest mean utility first; of equal ones the earlier.
std::vector<RankedText> rank_by_utility(std::span<const std::string> texts, Utility utility);

}  // namespace attend::metrics

template <>
inline constexpr auto attend::kEnumNames<attend::metrics::Utility> =
    std::to_array<attend::EnumName<attend::metrics::Utility>>({{metrics::Utility::chrf, "chrf"},
                                                               {metrics::Utility::bleu, "bleu"}});
