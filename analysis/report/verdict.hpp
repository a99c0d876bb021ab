// The result of a test between two systems, in words.
#pragma once

#include <string>

#include "analysis/report/comparison.hpp"

namespace attend {

inline constexpr double kSignificant = 0.05;  // p-values below it

// "BLEU of luong and fixed: luong is better by 1.20, a significant difference on this test set. Over seeds, …": first
// the tests of sentences of the first runs, then the test over seeds, each with its own direction and size.
std::string verdict_of(const PairTest& test, const std::string& a, const std::string& b);

}  // namespace attend
