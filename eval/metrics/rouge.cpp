#include "eval/metrics/rouge.hpp"

#include <algorithm>

#include "eval/metrics/overlap.hpp"
#include "eval/metrics/text.hpp"

namespace attend::metrics {
namespace {

using RougeWords = std::vector<std::string>;

// The runs of a-z and 0-9 of lower-cased text.
RougeWords rouge_words(std::string_view text) {
  RougeWords words(1);
  for (const char c : lower_case(text)) {
    const bool belongs = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (belongs) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::size_t longest_common_subsequence(const RougeWords& a, const RougeWords& b) {
  std::vector<std::size_t> row(b.size() + 1);  // of the words of a so far, by the words of b
  for (const std::string& word : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = word == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

std::vector<RougeWords> ngrams_of(const RougeWords& words, std::ptrdiff_t order) {
  std::vector<RougeWords> ngrams;
  for (std::ptrdiff_t i = 0; i + order <= std::ssize(words); ++i) {
    ngrams.emplace_back(words.begin() + i, words.begin() + i + order);
  }
  return ngrams;
}

}  // namespace

std::vector<double> Rouge::statistics(std::string_view hypothesis, std::span<const std::string_view> references) const {
  const RougeWords words = rouge_words(hypothesis);
  double best = 0;
  for (const std::string_view reference : references) {
    const RougeWords other = rouge_words(reference);
    if (order_ == kLongestSubsequence) {
      best = std::max(best, f1_of(longest_common_subsequence(words, other), words.size(), other.size()));
    } else {
      const std::vector<RougeWords> ours = ngrams_of(words, order_), theirs = ngrams_of(other, order_);
      best = std::max(best, f1_of(num_shared(ours, theirs), ours.size(), theirs.size()));
    }
  }
  return {best, 1};
}

double Rouge::value(std::span<const double> statistics) const {
  return statistics[1] == 0 ? 0 : 100 * statistics[0] / statistics[1];
}

}  // namespace attend::metrics
