#include "eval/metrics/chrf.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "eval/metrics/ngrams.hpp"
#include "eval/metrics/text.hpp"

namespace attend::metrics {
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
    row.resize(start + 3 * static_cast<std::size_t>(max_order_));
    for (std::size_t node = 1; node < trie_.size(); ++node) {
      double* const counts = &row[start + 3 * static_cast<std::size_t>(trie_.order(node) - 1)];
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

std::size_t Chrf::width() const { return 3 * static_cast<std::size_t>(kChrfOrder + options_.word_order); }

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

std::string Chrf::name() const { return "chrF2" + std::string(static_cast<std::size_t>(options_.word_order), '+'); }

std::string Chrf::settings() const {
  return fmt::format("case:{}|eff:yes|nc:{}|nw:{}|space:no", options_.lowercase ? "lc" : "mixed", kChrfOrder,
                     options_.word_order);
}

}  // namespace attend::metrics
