#include "eval/metrics/bayes_risk.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "eval/metrics/ngram_metrics.hpp"
#include "eval/metrics/tokenizers.hpp"

namespace attend::metrics {
namespace {

// The n-grams of one text, as nodes of a trie that the texts of a sentence share.
struct CountedText {
  struct Entry {
    std::uint32_t node = 0;
    std::uint32_t count = 0;
  };
  std::vector<Entry> ngrams;
  std::size_t length = 0;  // symbols

  double total(int order) const {
    return static_cast<double>(length - std::min(length, static_cast<std::size_t>(order - 1)));
  }
};

// Texts with their n-grams, and the statistics of each pair, from which the metric computes a score.
class CountedTexts {
 public:
  CountedTexts(std::span<const std::string_view> texts, Utility utility)
      : utility_(utility), max_order_(utility == Utility::chrf ? kChrfOrder : kBleuOrder), trie_(max_order_) {
    std::vector<std::string> split;  // stays alive beside `words`, which points into it
    split.reserve(texts.size());
    WordIds words;
    std::vector<std::uint32_t> counts;
    for (const std::string_view text : texts) {
      const std::vector<std::uint32_t> symbols =
          utility == Utility::chrf
              ? visible_characters(text)
              : words.of(split_words(split.emplace_back(tokenize(text, Tokenization::mteval_13a))));
      counts.assign(counts.size(), 0);
      trie_.count(symbols, counts);
      CountedText& counted = texts_.emplace_back(CountedText{.ngrams = {}, .length = symbols.size()});
      for (std::uint32_t node = 1; node < counts.size(); ++node) {
        if (counts[node] > 0) counted.ngrams.push_back({node, counts[node]});
      }
    }
  }

  // The counts of one text by node.
  std::vector<std::uint32_t> by_node(std::size_t text) const {
    std::vector<std::uint32_t> counts(trie_.size());
    for (const auto& [node, count] : texts_[text].ngrams) counts[node] = count;
    return counts;
  }

  // The row of text `h` with reference `r`, as Metric::statistics gives it.
  void fill_row(std::size_t h, std::size_t r, std::span<const std::uint32_t> r_by_node,
                std::vector<double>& row) const {
    std::array<double, kChrfOrder + 1> matches = {};
    for (const auto& [node, count] : texts_[h].ngrams) matches[trie_.order(node)] += std::min(count, r_by_node[node]);
    const CountedText &hypothesis = texts_[h], &reference = texts_[r];
    row.clear();
    if (utility_ == Utility::chrf) {
      for (int n = 1; n <= max_order_; ++n) {
        const double in_reference = reference.total(n);
        row.insert(row.end(), {in_reference == 0 ? 0 : hypothesis.total(n), in_reference, matches[n]});
      }
      return;
    }
    row = {static_cast<double>(hypothesis.length), static_cast<double>(reference.length)};
    row.insert(row.end(), matches.begin() + 1, matches.begin() + 1 + max_order_);
    for (int n = 1; n <= max_order_; ++n) row.push_back(hypothesis.total(n));
  }

 private:
  Utility utility_;
  int max_order_;
  NgramTrie trie_;
  std::vector<CountedText> texts_;
};

// The distinct texts in order of first occurrence, with the index of each and its number of occurrences.
struct Distinct {
  std::vector<std::string_view> texts;
  std::vector<std::size_t> first;
  std::vector<double> times;
};

Distinct distinct(std::span<const std::string> texts) {
  Distinct result;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto [place, is_new] = places.try_emplace(texts[i], result.texts.size());
    if (is_new) {
      result.texts.emplace_back(texts[i]);
      result.first.push_back(i);
      result.times.push_back(0);
    }
    ++result.times[place->second];
  }
  return result;
}

}  // namespace

std::vector<RankedText> rank_by_utility(std::span<const std::string> texts, Utility utility) {
  const Distinct candidates = distinct(texts);
  const CountedTexts counted(candidates.texts, utility);
  const Chrf chrf;
  const Bleu bleu;
  const Metric& metric = utility == Utility::chrf ? static_cast<const Metric&>(chrf) : bleu;
  std::vector<RankedText> ranked;
  for (const std::size_t first : candidates.first) ranked.push_back({.first = first});
  std::vector<double> row;
  const auto others = static_cast<double>(texts.size() - 1);
  for (std::size_t r = 0; others > 0 && r < ranked.size(); ++r) {
    const std::vector<std::uint32_t> r_by_node = counted.by_node(r);
    for (std::size_t h = 0; h < ranked.size(); ++h) {
      const double times = candidates.times[r] - (h == r ? 1 : 0);
      if (times == 0) continue;
      counted.fill_row(h, r, r_by_node, row);
      ranked[h].utility += times / others * metric.segment_value(row);
    }
  }
  std::ranges::stable_sort(ranked, std::greater(), &RankedText::utility);
  return ranked;
}

}  // namespace attend::metrics
