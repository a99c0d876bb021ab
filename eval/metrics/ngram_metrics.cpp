#include "eval/metrics/ngram_metrics.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>

namespace attend::metrics {

std::vector<std::uint32_t> WordIds::of(std::span<const std::string_view> words) {
  std::vector<std::uint32_t> ids;
  ids.reserve(words.size());
  for (const std::string_view word : words) {
    ids.push_back(ids_.try_emplace(word, static_cast<std::uint32_t>(ids_.size())).first->second);
  }
  return ids;
}

NgramTrie::NgramTrie(int max_order) : max_order_(max_order), edges_(256), orders_(1) {}

void NgramTrie::count(std::span<const std::uint32_t> symbols, std::vector<std::uint32_t>& counts) {
  for (std::size_t start = 0; start < symbols.size(); ++start) {
    std::uint32_t node = 0;
    const std::size_t end = std::min(symbols.size(), start + static_cast<std::size_t>(max_order_));
    for (std::size_t at = start; at < end; ++at) {
      node = child(node, symbols[at]);
      if (node >= counts.size()) counts.resize(node + 1);
      ++counts[node];
    }
  }
  counts.resize(size());
}

std::uint32_t NgramTrie::child(std::uint32_t parent, std::uint32_t symbol) {
  const std::uint64_t key = static_cast<std::uint64_t>(parent) << 32 | symbol;
  Edge& edge = find(key);
  if (edge.child != 0) return edge.child;
  const auto node = static_cast<std::uint32_t>(orders_.size());
  edge = {key, node};
  orders_.push_back(static_cast<std::uint8_t>(orders_[parent] + 1));
  if (orders_.size() * 2 > edges_.size()) grow();
  return node;
}

// The edge of `key`, or the free slot where it belongs.
NgramTrie::Edge& NgramTrie::find(std::uint64_t key) {
  const std::size_t mask = edges_.size() - 1;
  // Multiplying by 2^64 / golden ratio spreads the key over the high bits.
  std::size_t at = (key * 0x9e3779b97f4a7c15u) >> (64 - std::countr_zero(edges_.size()));
  while (edges_[at].child != 0 && edges_[at].key != key) at = (at + 1) & mask;
  return edges_[at];
}

void NgramTrie::grow() {
  std::vector<Edge> old(edges_.size() * 4);
  old.swap(edges_);
  for (const Edge& edge : old) {
    if (edge.child != 0) find(edge.key) = edge;
  }
}

namespace {

constexpr double kFloor = 0.1;
constexpr double kAdded = 1;

}  // namespace

std::vector<double> Bleu::statistics(std::string_view hypothesis, std::span<const std::string_view> references) const {
  // The texts stay alive beside `ids`, which points into them.
  std::vector<std::string> texts;
  texts.reserve(references.size() + 1);
  WordIds ids;
  const auto words_of = [&](std::string_view line) {
    const std::string lower = options_.lowercase ? lower_case(line) : std::string();
    return ids.of(split_words(texts.emplace_back(tokenize(options_.lowercase ? lower : line, options_.tokenize))));
  };

  NgramTrie trie(kBleuOrder);
  std::vector<std::uint32_t> found;
  const std::vector<std::uint32_t> words = words_of(hypothesis);
  trie.count(words, found);

  // Clipped counts: an n-gram matches at most as often as it occurs in a single reference.
  std::vector<std::uint32_t> allowed(found.size());
  std::size_t closest = 0;
  for (std::size_t r = 0; r < references.size(); ++r) {
    std::vector<std::uint32_t> in_reference;
    const std::vector<std::uint32_t> reference = words_of(references[r]);
    trie.count(reference, in_reference);
    for (std::size_t node = 0; node < allowed.size(); ++node) {
      allowed[node] = std::max(allowed[node], in_reference[node]);
    }
    const auto distance = [&](std::size_t length) {
      return std::pair(std::max(length, words.size()) - std::min(length, words.size()), length);
    };
    if (r == 0 || distance(reference.size()) < distance(closest)) closest = reference.size();
  }

  std::vector<double> row(width());
  row[0] = static_cast<double>(words.size());
  row[1] = static_cast<double>(closest);
  double* const matches = &row[2] - 1;  // by order, from 1
  double* const totals = &row[2 + kBleuOrder] - 1;
  for (std::size_t node = 1; node < found.size(); ++node) {
    matches[trie.order(node)] += std::min(found[node], allowed[node]);
    totals[trie.order(node)] += found[node];
  }
  return row;
}

BleuScore Bleu::score(std::span<const double> statistics, bool effective_order) const {
  BleuScore result;
  result.hypothesis_length = statistics[0];
  result.reference_length = statistics[1];
  if (result.reference_length > 0) result.ratio = result.hypothesis_length / result.reference_length;
  if (result.hypothesis_length < result.reference_length) {
    result.brevity_penalty =
        result.hypothesis_length > 0 ? std::exp(1 - result.reference_length / result.hypothesis_length) : 0;
  }
  const std::span<const double> all_matches = statistics.subspan(2, kBleuOrder);
  if (std::ranges::all_of(all_matches, [](double matches) { return matches == 0; })) return result;

  int order = kBleuOrder;
  double penalty = 1;
  for (int n = 0; n < kBleuOrder; ++n) {
    const double added = options_.smoothing == BleuSmoothing::add_k && n > 0 ? kAdded : 0;
    const double matches = all_matches[n] + added;
    const double total = statistics[2 + kBleuOrder + n] + added;
    if (total == 0) break;
    if (effective_order) order = n + 1;
    double& precision = result.precisions[n];
    if (matches > 0) {
      precision = 100 * matches / total;
    } else if (options_.smoothing == BleuSmoothing::exp) {
      precision = 100 / ((penalty *= 2) * total);
    } else if (options_.smoothing == BleuSmoothing::floor) {
      precision = 100 * kFloor / total;
    }
  }
  double sum = 0;
  for (int n = 0; n < order; ++n) {
    const double precision = result.precisions[n];
    sum += precision > 0 ? std::log(precision) : -9999999999.0;  // sacreBLEU's logarithm of zero
  }
  result.score = result.brevity_penalty * std::exp(sum / order);
  return result;
}

std::string Bleu::details(std::span<const double> statistics) const {
  const BleuScore s = score(statistics);
  return fmt::format("{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {:.0f} ref_len = {:.0f})",
                     fmt::join(s.precisions, "/"), s.brevity_penalty, s.ratio, s.hypothesis_length, s.reference_length);
}

nlohmann::ordered_json Bleu::parts(std::span<const double> statistics) const {
  const BleuScore s = score(statistics);
  return {{"precisions", s.precisions},
          {"brevity_penalty", s.brevity_penalty},
          {"ratio", s.ratio},
          {"hypothesis_length", static_cast<std::int64_t>(s.hypothesis_length)},
          {"reference_length", static_cast<std::int64_t>(s.reference_length)}};
}

std::string Bleu::settings() const {
  std::string smoothing(name_of(options_.smoothing));
  if (options_.smoothing == BleuSmoothing::floor) smoothing += fmt::format("[{:.2f}]", kFloor);
  if (options_.smoothing == BleuSmoothing::add_k) smoothing += fmt::format("[{:.2f}]", kAdded);
  return fmt::format("case:{}|eff:{}|tok:{}|smooth:{}", options_.lowercase ? "lc" : "mixed",
                     options_.effective_order ? "yes" : "no", name_of(options_.tokenize), smoothing);
}

namespace {

constexpr double kBeta = 2;

bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Words with one punctuation mark split off: at the end, or else at the start. "(hi)" becomes "(hi" and ")".
std::vector<std::string_view> split_punctuation(std::string_view text) {
  std::vector<std::string_view> parts;
  for (const std::string_view word : split_words(text)) {
    // A word of one character that has several bytes neither starts nor ends with ASCII punctuation.
    if (word.size() > 1 && is_punctuation(word.back())) {
      parts.insert(parts.end(), {word.substr(0, word.size() - 1), word.substr(word.size() - 1)});
    } else if (word.size() > 1 && is_punctuation(word.front())) {
      parts.insert(parts.end(), {word.substr(0, 1), word.substr(1)});
    } else {
      parts.push_back(word);
    }
  }
  return parts;
}

// The n-grams of one kind (characters or words) in a hypothesis and in each reference.
class Matcher {
 public:
  Matcher(int max_order, std::span<const std::uint32_t> hypothesis) : max_order_(max_order), trie_(max_order) {
    trie_.count(hypothesis, in_hypothesis_);
  }

  // Appends [hypothesis, reference, matches] of every order to `row`.
  void compare(std::span<const std::uint32_t> reference, std::vector<double>& row) {
    std::vector<std::uint32_t> in_reference;
    trie_.count(reference, in_reference);
    in_hypothesis_.resize(trie_.size());
    const std::size_t start = row.size();
    row.resize(start + 3 * max_order_);
    for (std::size_t node = 1; node < trie_.size(); ++node) {
      double* const counts = &row[start + 3 * (trie_.order(node) - 1)];
      counts[0] += in_hypothesis_[node];
      counts[1] += in_reference[node];
      counts[2] += std::min(in_hypothesis_[node], in_reference[node]);
    }
    // An order that is missing in the reference does not lower the score.
    for (std::size_t at = start; at < row.size(); at += 3) {
      if (row[at + 1] == 0) row[at] = 0;
    }
  }

 private:
  int max_order_;
  NgramTrie trie_;
  std::vector<std::uint32_t> in_hypothesis_;
};

}  // namespace

std::size_t Chrf::width() const { return 3 * (kChrfOrder + options_.word_order); }

std::vector<double> Chrf::statistics(std::string_view hypothesis, std::span<const std::string_view> references) const {
  // The texts stay alive beside `ids`, which points into them.
  std::vector<std::string> texts;
  texts.reserve(references.size() + 1);
  const auto prepare = [&](std::string_view line) -> std::string_view {
    return options_.lowercase ? texts.emplace_back(lower_case(line)) : line;
  };

  const std::string_view text = prepare(hypothesis);
  WordIds ids;
  Matcher characters(kChrfOrder, visible_characters(text));
  Matcher words(options_.word_order,
                options_.word_order > 0 ? ids.of(split_punctuation(text)) : std::vector<std::uint32_t>());
  std::vector<double> best;
  double best_value = -1;
  for (const std::string_view reference : references) {
    const std::string_view other = prepare(reference);
    std::vector<double> row;
    row.reserve(width());
    characters.compare(visible_characters(other), row);
    if (options_.word_order > 0) words.compare(ids.of(split_punctuation(other)), row);
    if (const double score = value(row); score > best_value) {
      best_value = score;
      best = std::move(row);
    }
  }
  return best;
}

double Chrf::value(std::span<const double> statistics) const {
  double precision = 0;
  double recall = 0;
  int orders = 0;  // orders present on both sides
  for (std::size_t at = 0; at < statistics.size(); at += 3) {
    if (statistics[at] > 0 && statistics[at + 1] > 0) {
      precision += statistics[at + 2] / statistics[at];
      recall += statistics[at + 2] / statistics[at + 1];
      ++orders;
    }
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  constexpr double kFactor = kBeta * kBeta;
  return 100 * ((1 + kFactor) * precision * recall / (kFactor * precision + recall));
}

std::string Chrf::name() const { return "chrF2" + std::string(options_.word_order, '+'); }

std::string Chrf::settings() const {
  return fmt::format("case:{}|eff:yes|nc:{}|nw:{}|space:no", options_.lowercase ? "lc" : "mixed", kChrfOrder,
                     options_.word_order);
}

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
