#include "eval/metrics/rouge.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

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

std::int64_t longest_common_subsequence(const RougeWords& a, const RougeWords& b) {
  std::vector<std::int64_t> row(b.size() + 1);  // of the words of a so far, by the words of b
  for (const std::string& word : a) {
    std::int64_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::int64_t above = row[j + 1];
      row[j + 1] = word == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

std::map<RougeWords, std::int64_t> count_ngrams(const RougeWords& words, std::size_t order) {
  std::map<RougeWords, std::int64_t> counts;
  for (std::size_t i = 0; i + order <= words.size(); ++i) {
    ++counts[RougeWords(words.begin() + static_cast<std::ptrdiff_t>(i),
                        words.begin() + static_cast<std::ptrdiff_t>(i + order))];
  }
  return counts;
}

std::int64_t num_ngrams(const RougeWords& words, std::size_t order) {
  return words.size() < order ? 0 : std::ssize(words) - static_cast<std::int64_t>(order) + 1;
}

std::int64_t common_ngrams(const RougeWords& a, const RougeWords& b, std::size_t order) {
  const auto in_b = count_ngrams(b, order);
  std::int64_t common = 0;
  for (const auto& [ngram, count] : count_ngrams(a, order)) {
    if (const auto found = in_b.find(ngram); found != in_b.end()) common += std::min(count, found->second);
  }
  return common;
}

double f1_of(std::int64_t common, std::int64_t in_hypothesis, std::int64_t in_reference) {
  if (common == 0) return 0;
  const double precision = static_cast<double>(common) / static_cast<double>(in_hypothesis);
  const double recall = static_cast<double>(common) / static_cast<double>(in_reference);
  return 2 * precision * recall / (precision + recall);
}

}  // namespace

std::vector<double> Rouge::statistics(std::string_view hypothesis, std::span<const std::string_view> references) const {
  const RougeWords words = rouge_words(hypothesis);
  double best = 0;
  for (const std::string_view reference : references) {
    const RougeWords other = rouge_words(reference);
    const auto order = static_cast<std::size_t>(order_);
    const double score =
        order_ == kLongestSubsequence
            ? f1_of(longest_common_subsequence(words, other), std::ssize(words), std::ssize(other))
            : f1_of(common_ngrams(words, other, order), num_ngrams(words, order), num_ngrams(other, order));
    best = std::max(best, score);
  }
  return {best, 1};
}

double Rouge::value(std::span<const double> statistics) const {
  return statistics[1] == 0 ? 0 : 100 * statistics[0] / statistics[1];
}

}  // namespace attend::metrics
