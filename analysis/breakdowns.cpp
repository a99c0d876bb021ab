#include "analysis/breakdowns.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/pair_tests.hpp"
#include "analysis/report/section_parts.hpp"
#include "core/error.hpp"
#include "data/text/lines.hpp"
#include "eval/metrics/significance.hpp"
#include "eval/metrics/tokenizers.hpp"

namespace attend {

RecallByGroup::RecallByGroup(const std::vector<std::string>& names, std::size_t systems, std::size_t sentences)
    : names_(names), counts_(names.size(), {systems, std::vector<Found>(sentences)}) {}

void RecallByGroup::add(std::size_t group, std::size_t system, std::size_t sentence, bool is_found) {
  Found& counts = counts_[group][system][sentence];
  ++counts.all;
  counts.found += is_found ? 1 : 0;
}

Estimate RecallByGroup::recall_of(const std::vector<Found>& sentences) {
  const auto recall = [&](std::span<const std::size_t> chosen) {
    Found sum;
    for (const std::size_t i : chosen) {
      sum.all += sentences[i].all;
      sum.found += sentences[i].found;
    }
    return 100 * sum.found / sum.all;
  };
  std::vector<std::size_t> having;  // something to find
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (sentences[i].all > 0) having.push_back(i);
  }
  const double value = recall(having);
  if (having.size() < metrics::kFewestSegments) return {value, kNotMeasured, kNotMeasured};
  if (value > 0 && value < 100) return estimate_over(sentences.size(), recall);
  const metrics::Interval share = metrics::wilson(value == 0 ? 0 : std::ssize(having), std::ssize(having));
  return {value, 100 * share.low, 100 * share.high};
}

std::vector<BreakdownGroup> RecallByGroup::groups() const {
  std::vector<BreakdownGroup> groups;
  for (std::size_t g = 0; g < names_.size(); ++g) {
    double count = 0;
    for (const Found& sentence : counts_[g].at(0)) count += sentence.all;
    if (count == 0) continue;
    BreakdownGroup& group =
        groups.emplace_back(BreakdownGroup{.name = names_[g], .count = static_cast<std::int64_t>(count)});
    for (const std::vector<Found>& sentences : counts_[g]) group.values.push_back(recall_of(sentences));
  }
  return groups;
}

namespace {

using Words = std::vector<std::string>;

Words words_of(std::string_view line) {
  const std::string tokens = metrics::tokenize(line, metrics::Tokenization::mteval_13a);
  const std::vector<std::string_view> words = metrics::split_words(tokens);
  return {words.begin(), words.end()};
}

// For each word of the reference, whether the translation has it as often as the reference does up to there.
std::vector<bool> found_words(const Words& reference, const Words& translation) {
  std::unordered_map<std::string_view, int> left;
  for (const std::string& word : translation) ++left[word];
  std::vector<bool> found;
  for (const std::string& word : reference) found.push_back(left[word]-- > 0);
  return found;
}

// Recall by groups of reference words. `group_of(sentence, words, i)` is the group of a word.
template <class GroupOf>
Breakdown recall_by(const TranslatedSet& set, Breakdown breakdown, const std::vector<std::string>& names,
                    const GroupOf& group_of) {
  breakdown.measure = "recall in percent";
  breakdown.unit = "words";
  RecallByGroup recall(names, set.outputs.size(), set.references.size());
  for (std::size_t sentence = 0; sentence < set.references.size(); ++sentence) {
    const Words reference = words_of(set.references[sentence]);
    std::vector<std::size_t> groups;
    for (std::size_t i = 0; i < reference.size(); ++i) groups.push_back(group_of(sentence, reference, i));
    for (std::size_t system = 0; system < set.outputs.size(); ++system) {
      const std::vector<bool> found = found_words(reference, words_of(set.outputs[system][sentence]));
      for (std::size_t i = 0; i < reference.size(); ++i) recall.add(groups[i], system, sentence, found[i]);
    }
  }
  breakdown.groups = recall.groups();
  return breakdown;
}

// The group that holds the number; groups begin at `bounds`, ascending from 0.
std::size_t group_at(std::span<const std::int64_t> bounds, std::int64_t number) {
  return static_cast<std::size_t>(std::ranges::upper_bound(bounds, number) - bounds.begin()) - 1;
}

bool is_name_or_number(std::string_view word) {
  const bool has_digit = std::ranges::any_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
  return has_digit || metrics::lower_case(word) != word;
}

}  // namespace

WordFrequencies count_frequencies(const std::vector<std::string>& files) {
  WordFrequencies frequencies;
  for (const std::string& file : files) {
    LineReader reader(file);
    for (std::string line; reader.next(line);) {
      for (std::string& word : words_of(line)) ++frequencies[std::move(word)];
    }
  }
  return frequencies;
}

std::vector<LengthGroup> length_groups(const std::vector<std::string>& sources) {
  constexpr std::array<std::int64_t, 5> kBounds = {0, 10, 20, 30, 40};
  std::vector<LengthGroup> groups = {
      {"under 10", {}}, {"10 to 19", {}}, {"20 to 29", {}}, {"30 to 39", {}}, {"40 and more", {}}};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    groups[group_at(kBounds, std::ssize(metrics::split_words(sources[i])))].sentences.push_back(i);
  }
  std::erase_if(groups, [](const LengthGroup& group) { return group.sentences.empty(); });
  return groups;
}

Breakdown by_length(const TranslatedSet& set, const metrics::Metric& metric) {
  Breakdown breakdown{.id = "length", .title = "Source length in words", .measure = metric.name(), .unit = "sentences"};
  for (const LengthGroup& group : length_groups(set.sources)) {
    BreakdownGroup& shown =
        breakdown.groups.emplace_back(BreakdownGroup{.name = group.name, .count = std::ssize(group.sentences)});
    const metrics::Resamples samples = metrics::draw_resamples(group.sentences.size());
    for (const std::vector<std::string>& outputs : set.outputs) {
      metrics::Tally tally(metric);
      for (const std::size_t i : group.sentences) tally.add(outputs[i], {set.references[i]});
      shown.values.emplace_back(estimate_of(with_resamples(tally, samples)));
    }
  }
  return breakdown;
}

const std::vector<std::string>& frequency_names() {
  static const std::vector<std::string> names = {"never",      "1 to 9",         "10 to 99",
                                                 "100 to 999", "1,000 to 9,999", "10,000 and more"};
  return names;
}

std::size_t frequency_group(const WordFrequencies& frequencies, const std::string& word) {
  constexpr std::array<std::int64_t, 6> kBounds = {0, 1, 10, 100, 1000, 10000};
  const auto found = frequencies.find(word);
  return group_at(kBounds, found == frequencies.end() ? 0 : found->second);
}

Breakdown by_frequency(const TranslatedSet& set, const WordFrequencies& frequencies) {
  return recall_by(
      set, {.id = "frequency", .title = "Frequency of the reference word in the training text"}, frequency_names(),
      [&](std::size_t, const Words& words, std::size_t i) { return frequency_group(frequencies, words[i]); });
}

Breakdown by_copying(const TranslatedSet& set) {
  std::vector<std::set<std::string>> sources;
  for (const std::string& line : set.sources) {
    const Words words = words_of(line);
    sources.emplace_back(words.begin(), words.end());
  }
  return recall_by(set, {.id = "copied", .title = "Names and numbers to be copied, and other words"},
                   {"to be copied", "others"}, [&](std::size_t sentence, const Words& words, std::size_t i) {
                     const bool copied = is_name_or_number(words[i]) && sources[sentence].contains(words[i]);
                     return copied ? 0U : 1U;
                   });
}

Breakdown by_position(const TranslatedSet& set) {
  return recall_by(set, {.id = "position", .title = "Place in the reference"},
                   {"first fifth", "second", "third", "fourth", "last fifth"},
                   [](std::size_t, const Words& words, std::size_t i) { return 5 * i / words.size(); });
}

std::vector<NgramDifference> ngram_differences(const TranslatedSet& set, std::size_t most) {
  constexpr std::size_t kLongest = 3;
  const std::size_t num_systems = set.outputs.size();
  const auto count_ngrams = [](const Words& words) {
    std::map<std::string, std::int64_t> counts;
    for (std::size_t begin = 0; begin < words.size(); ++begin) {
      std::string ngram;
      for (std::size_t end = begin; end < std::min(begin + kLongest, words.size()); ++end) {
        ngram += (end == begin ? "" : " ") + words[end];
        ++counts[ngram];
      }
    }
    return counts;
  };
  std::unordered_map<std::string, NgramDifference> all;
  for (std::size_t sentence = 0; sentence < set.references.size(); ++sentence) {
    const auto wanted = count_ngrams(words_of(set.references[sentence]));
    for (const auto& [ngram, count] : wanted) {
      NgramDifference& entry = all[ngram];
      entry.text = ngram;
      entry.in_reference += count;
      entry.matched.resize(num_systems);
    }
    for (std::size_t system = 0; system < num_systems; ++system) {
      for (const auto& [ngram, count] : count_ngrams(words_of(set.outputs[system][sentence]))) {
        if (const auto found = wanted.find(ngram); found != wanted.end()) {
          all[ngram].matched[system] += std::min(count, found->second);
        }
      }
    }
  }
  // As compare-mt smooths it. Of equal ratios, first that of more matches.
  const auto ratio = [](const NgramDifference& ngram) {
    const auto [least, greatest] = std::ranges::minmax(ngram.matched);
    return std::pair(static_cast<double>(greatest + 1) / static_cast<double>(least + 1), greatest);
  };
  std::vector<NgramDifference> differences;
  for (auto& [text, ngram] : all) {
    if (ratio(ngram).first > 1) differences.push_back(std::move(ngram));
  }
  std::ranges::sort(differences, [&](const NgramDifference& a, const NgramDifference& b) {
    return ratio(a) != ratio(b) ? ratio(a) > ratio(b) : a.text < b.text;
  });
  if (differences.size() > most) differences.resize(most);
  return differences;
}

namespace {

constexpr std::array<std::int64_t, 4> kFarthest = {1, 3, 6, 10};  // of all groups but the last

std::vector<std::string> words_of(const std::string& text) {
  const std::string lower = metrics::lower_case(text);
  const auto is_punctuation = [](char byte) { return std::ispunct(static_cast<unsigned char>(byte)) != 0; };
  std::vector<std::string> words;
  for (std::string_view word : aligned_words(lower)) {
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
  RecallByGroup recall(names, outputs.size(), reference.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const std::vector<std::string> words = words_of(reference[i]);
    std::vector<std::vector<std::string>> translated;
    for (const auto& output : outputs) translated.push_back(words_of(output.at(i)));
    for (const auto& [first, last] : pairs_of(gold[i])) {
      ensure(last < std::ssize(words), "gold links inside their sentence");
      const auto group =
          static_cast<std::size_t>(std::ranges::lower_bound(kFarthest, last - first) - kFarthest.begin());
      for (std::size_t system = 0; system < outputs.size(); ++system) {
        recall.add(group, system, i, has_in_order(translated[system], words[first], words[last]));
      }
    }
  }
  return {.id = "distance",
          .title = "words that depend on each other, by their distance",
          .measure = "recall in percent",
          .unit = "pairs of words",
          .groups = recall.groups()};
}

}  // namespace attend
