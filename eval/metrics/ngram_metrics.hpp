// Metrics that count n-grams: BLEU, chrF and ROUGE.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/options.hpp"
#include "eval/metrics/metric.hpp"
#include "eval/metrics/tokenizers.hpp"

namespace attend::metrics {

// Exact n-gram counts. An n-gram is a path in a trie, so it is identified by a small number, and all orders are counted
// in one pass.
//
//   NgramTrie trie(4);
//   std::vector<std::uint32_t> counts;
//   trie.count(words, counts);            // counts[node]: how often the n-gram of `node` occurs in `words`
//   trie.order(node)                      // its length

// Numbers words from 0 in order of first occurrence. The words must outlive it.
class WordIds {
 public:
  std::vector<std::uint32_t> of(std::span<const std::string_view> words);

 private:
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

// All n-grams of orders 1 to max_order of the sequences counted so far. Node 0 is the root, the empty n-gram.
class NgramTrie {
 public:
  explicit NgramTrie(int max_order);

  // Adds the n-grams of `symbols` to `counts`, which is indexed by node and grows to size().
  void count(std::span<const std::uint32_t> symbols, std::vector<std::uint32_t>& counts);

  std::size_t size() const { return orders_.size(); }
  int order(std::size_t node) const { return orders_[node]; }

 private:
  struct Edge {
    std::uint64_t key = 0;    // parent << 32 | symbol
    std::uint32_t child = 0;  // 0: free, for the root is nobody's child
  };
  std::uint32_t child(std::uint32_t parent, std::uint32_t symbol);
  Edge& find(std::uint64_t key);
  void grow();

  int max_order_;
  std::vector<Edge> edges_;  // open addressing; the size is a power of two
  std::vector<std::uint8_t> orders_;
};

// The overlap of two bags (multisets) of words or n-grams.

template <class Member>
std::size_t num_shared(std::vector<Member> a, std::vector<Member> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::vector<Member> shared;
  std::ranges::set_intersection(a, b, std::back_inserter(shared));
  return shared.size();
}

// The F1 of bags of these sizes with `shared` common members.
inline double f1_of(std::size_t shared, std::size_t predicted, std::size_t gold) {
  if (shared == 0) return 0;
  const double precision = static_cast<double>(shared) / static_cast<double>(predicted);
  const double recall = static_cast<double>(shared) / static_cast<double>(gold);
  return 2 * precision * recall / (precision + recall);
}

// BLEU (Papineni et al. 2002), equal to sacreBLEU 2.6.0.
//
// Left out: orders other than 4, and other smoothing values than sacreBLEU's defaults (floor 0.1, add-k 1).

inline constexpr int kBleuOrder = 4;

enum class BleuSmoothing { none, exp, floor, add_k };

struct BleuOptions {
  Tokenization tokenize = Tokenization::mteval_13a;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  bool lowercase = false;
  bool effective_order = false;  // average only over orders that occur in the hypothesis
};

struct BleuScore {
  double score = 0;
  std::array<double, kBleuOrder> precisions{};  // smoothed, in percent
  double brevity_penalty = 1;
  double ratio = 0;              // hypothesis_length / reference_length, 0 for an empty reference
  double hypothesis_length = 0;  // tokens
  double reference_length = 0;   // tokens of the reference closest in length; the shorter one on a tie
};

class Bleu : public Metric {
 public:
  explicit Bleu(const BleuOptions& options = {}) : options_(options) {}

  // [hypothesis length, reference length, matches of order 1..4, n-grams of order 1..4].
  std::size_t width() const override { return 2 + 2 * kBleuOrder; }
  std::vector<double> statistics(std::string_view hypothesis,
                                 std::span<const std::string_view> references) const override;

  BleuScore score(std::span<const double> statistics) const { return score(statistics, options_.effective_order); }
  double value(std::span<const double> statistics) const override { return score(statistics).score; }
  // Always with effective order: most sentences match no 4-gram.
  double segment_value(std::span<const double> statistics) const override { return score(statistics, true).score; }

  std::string name() const override { return "BLEU"; }
  std::string details(std::span<const double> statistics) const override;
  nlohmann::ordered_json parts(std::span<const double> statistics) const override;

 protected:
  std::string settings() const override;

 private:
  BleuScore score(std::span<const double> statistics, bool effective_order) const;
  BleuOptions options_;
};

// chrF2 (Popović 2015) and chrF2++ (Popović 2017, with word n-grams), equal to sacreBLEU 2.6.0: character n-grams up to
// order 6 over text without white space, recall weighing twice as much as precision.
//
// Left out: other character orders and weights, white space as a character, and the epsilon smoothing of chrF++.py.

inline constexpr int kChrfOrder = 6;  // of characters

struct ChrfOptions {
  int word_order = 0;  // 0 is chrF2, 2 is chrF2++
  bool lowercase = false;
};

class Chrf : public Metric {
 public:
  explicit Chrf(const ChrfOptions& options = {}) : options_(options) {}

  // For each order, characters first: n-grams in the hypothesis, in the reference, and matches, for the reference that
  // gives the segment its best score.
  std::size_t width() const override;
  std::vector<double> statistics(std::string_view hypothesis,
                                 std::span<const std::string_view> references) const override;
  double value(std::span<const double> statistics) const override;
  std::string name() const override;

 protected:
  std::string settings() const override;

 private:
  ChrfOptions options_;
};

// ROUGE (Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries"), equal to rouge-score 0.1.2 without
// stemming: the F1 of common n-grams (ROUGE-1, ROUGE-2) or of the longest common subsequence (ROUGE-L) of each pair, on
// lower-cased runs of a-z and 0-9; of several references the best. A corpus has the mean of its pairs.
//
// Not included: stemming, ROUGE-Lsum, and the medians of resampled means that rouge-score's aggregator gives.
class Rouge : public Metric {
 public:
  static constexpr int kLongestSubsequence = 0;  // ROUGE-L

  // `order`: of the n-grams, or kLongestSubsequence.
  explicit Rouge(int order) : order_(order) {}

  // F1, and 1 to count pairs.
  std::size_t width() const override { return 2; }
  std::vector<double> statistics(std::string_view hypothesis,
                                 std::span<const std::string_view> references) const override;
  double value(std::span<const double> statistics) const override;
  std::string name() const override {
    return order_ == kLongestSubsequence ? "ROUGE-L" : "ROUGE-" + std::to_string(order_);
  }

 protected:
  std::string settings() const override { return "case:lc|stem:no"; }
  std::string_view equals() const override { return "rouge-score0.1.2"; }

 private:
  int order_;
};

}  // namespace attend::metrics

template <>
inline constexpr auto attend::kEnumNames<attend::metrics::BleuSmoothing> =
    std::to_array<attend::EnumName<attend::metrics::BleuSmoothing>>({
        {metrics::BleuSmoothing::none, "none"},
        {metrics::BleuSmoothing::exp, "exp"},
        {metrics::BleuSmoothing::floor, "floor"},
        {metrics::BleuSmoothing::add_k, "add-k"},
    });
