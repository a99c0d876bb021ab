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

struct Group {
  std::string name;
  std::int64_t farthest = 0;
};
const std::array<Group, 5> kGroups = {
    {{"1", 1}, {"2 to 3", 3}, {"4 to 6", 6}, {"7 to 10", 10}, {"11 and more", INT64_MAX}}};

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
  std::vector<std::vector<std::vector<Found>>> found(  // [group][system][sentence]
      kGroups.size(), std::vector<std::vector<Found>>(outputs.size(), std::vector<Found>(reference.size())));
  std::vector<std::int64_t> num_pairs(kGroups.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const std::vector<std::string> words = words_of(reference[i]);
    std::vector<std::vector<std::string>> translated;
    for (const auto& output : outputs) translated.push_back(words_of(output.at(i)));
    for (const auto& [first, last] : pairs_of(gold[i])) {
      ensure(last < std::ssize(words), "gold links inside their sentence");
      const auto is_near = [&](const Group& group) { return last - first <= group.farthest; };
      const auto group = static_cast<std::size_t>(std::ranges::find_if(kGroups, is_near) - kGroups.begin());
      ++num_pairs[group];
      for (std::size_t system = 0; system < outputs.size(); ++system) {
        const bool has = has_in_order(translated[system], words[static_cast<std::size_t>(first)],
                                      words[static_cast<std::size_t>(last)]);
        Found& sentence = found[group][system][i];
        ++sentence.all;
        sentence.found += has ? 1 : 0;
      }
    }
  }
  Breakdown result{.id = "distance",
                   .title = "words that depend on each other, by their distance",
                   .measure = "recall in percent",
                   .unit = "pairs of words"};
  for (std::size_t g = 0; g < kGroups.size(); ++g) {
    if (num_pairs[g] == 0) continue;
    BreakdownGroup& group = result.groups.emplace_back();
    group.name = kGroups[g].name;
    group.count = num_pairs[g];
    for (const std::vector<Found>& sentences : found[g]) group.values.push_back(recall_of(sentences));
  }
  return result;
}

}  // namespace attend
