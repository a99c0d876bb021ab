#include "analysis/distant_pairs.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "analysis/recall.hpp"
#include "core/error.hpp"
#include "data/text/lines.hpp"
#include "eval/metrics/text.hpp"

namespace attend {
namespace {

constexpr std::array<std::int64_t, 4> kFarthest = {1, 3, 6, 10};  // of all groups but the last

std::vector<std::string> words_of(const std::string& text) {
  const std::string lower = metrics::lower_case(text);
  const auto is_punctuation = [](char byte) { return std::ispunct(static_cast<unsigned char>(byte)) != 0; };
  std::vector<std::string> words;
  for (std::string_view word : spaced_words(lower)) {
    while (word.size() > 1 && is_punctuation(word.back())) word.remove_suffix(1);
    while (word.size() > 1 && is_punctuation(word.front())) word.remove_prefix(1);
    words.emplace_back(word);
  }
  return words;
}

// The first and last target word of every source word that has several.
std::set<std::pair<std::int64_t, std::int64_t>> pairs_of(const SentenceLinks& gold) {
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> spans;  // by source word
  for (const Link& link : gold.sure) {
    auto& span = spans.try_emplace(link.src, link.tgt, link.tgt).first->second;
    span = {std::min(span.first, link.tgt), std::max(span.second, link.tgt)};
  }
  std::set<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const auto& [src, span] : spans) {
    if (span.first < span.second) pairs.insert(span);
  }
  return pairs;
}

bool has_in_order(const std::vector<std::string>& words, const std::string& first, const std::string& last) {
  const auto begin = std::ranges::find(words, first);
  return begin != words.end() && std::find(begin + 1, words.end(), last) != words.end();
}

}  // namespace

Breakdown recall_of_distant_pairs(const std::vector<std::string>& reference,
                                  const std::vector<std::vector<std::string>>& outputs,
                                  const std::vector<SentenceLinks>& gold) {
  ensure(reference.size() == gold.size(), "links for each line");
  const std::vector<std::string> names = {"1", "2 to 3", "4 to 6", "7 to 10", "11 and more"};
  FoundByGroup found(names.size(),
                     std::vector<std::vector<Found>>(outputs.size(), std::vector<Found>(reference.size())));
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const std::vector<std::string> words = words_of(reference[i]);
    std::vector<std::vector<std::string>> translated;
    for (const auto& output : outputs) translated.push_back(words_of(output.at(i)));
    for (const auto& [first, last] : pairs_of(gold[i])) {
      ensure(last < std::ssize(words), "gold links inside their sentence");
      const auto group =
          static_cast<std::size_t>(std::ranges::lower_bound(kFarthest, last - first) - kFarthest.begin());
      for (std::size_t system = 0; system < outputs.size(); ++system) {
        const bool has = has_in_order(translated[system], words[static_cast<std::size_t>(first)],
                                      words[static_cast<std::size_t>(last)]);
        Found& sentence = found[group][system][i];
        ++sentence.all;
        sentence.found += has ? 1 : 0;
      }
    }
  }
  return {.id = "distance",
          .title = "words that depend on each other, by their distance",
          .measure = "recall in percent",
          .unit = "pairs of words",
          .groups = recall_by_group(names, found)};
}

}  // namespace attend
