#include "analysis/head_relations.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>

#include "core/error.hpp"
#include "eval/metrics/significance.hpp"

namespace attend {
namespace {

// The word with the largest weight among those that `may_be`, the first of equal ones; none if all weights are 0.
std::optional<std::size_t> most_attended(WordWeights row, const std::function<bool(std::size_t)>& may_be) {
  std::optional<std::size_t> best;
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (row[j] > (best ? row[*best] : 0.0) && may_be(j)) best = j;
  }
  return best;
}

WordWeights row_of(WordWeights weights, std::size_t word, std::size_t words) {
  return weights.subspan(word * words, words);
}

std::int64_t offset_between(std::size_t from, std::size_t to) {
  return static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from);
}

double fraction(std::int64_t count, std::int64_t of) {
  return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of);
}

}  // namespace

void RelationTally::add(const TreeSentence& tree, const SeenWords& seen, std::span<const WordWeights> heads) {
  const std::size_t words = tree.words.size();
  ensure(heads.size() == num_heads_ && seen.has_pieces.size() == words, "the weights of every head");
  const std::size_t half = sentences_++ % 2;
  const auto count = [&](std::size_t from, std::size_t to, bool to_head, const std::string& relation) {
    if (!seen.has_pieces[from] || !seen.has_pieces[to] || (is_causal_ && to > from)) return;
    Instance& instance = relations_[{relation, to_head}][half].emplace_back();
    instance.offset = offset_between(from, to);
    const auto is_other = [&](std::size_t word) { return word != from && seen.has_pieces[word]; };
    for (const WordWeights weights : heads) {
      instance.found_by.push_back(most_attended(row_of(weights, from, words), is_other) == to);
    }
  };
  for (std::size_t dependent = 0; dependent < words; ++dependent) {
    const TreeWord& word = tree.words[dependent];
    if (word.head == 0) continue;
    count(dependent, word.head - 1, true, word.relation);
    count(word.head - 1, dependent, false, word.relation);
  }
}

std::int64_t RelationTally::instances() const {
  std::int64_t sum = 0;
  for (const auto& [relation, halves] : relations_) sum += std::ssize(halves[0]) + std::ssize(halves[1]);
  return sum;
}

void RelationTally::write(HeadReport& report) const {
  std::vector<double> p_values;
  for (const auto& [name, halves] : relations_) {
    const auto& [first, second] = halves;
    if (std::min(std::ssize(first), std::ssize(second)) < kFewestInstances) {
      ++report.rare_relations;
      continue;
    }
    HeadRelation& result = report.relations.emplace_back();
    result.relation = name.first;
    result.to_head = name.second;
    result.chosen_on = std::ssize(first);
    result.instances = std::ssize(second);
    std::vector<std::int64_t> found(num_heads_);
    std::map<std::int64_t, std::int64_t> at_offset;
    for (const Instance& instance : first) {
      for (std::size_t h = 0; h < num_heads_; ++h) found[h] += instance.found_by[h] ? 1 : 0;
      ++at_offset[instance.offset];
    }
    for (const std::int64_t hits : found) result.by_head.push_back(fraction(hits, result.chosen_on));
    result.chosen = static_cast<std::size_t>(std::ranges::max_element(found) - found.begin());
    const auto best = std::ranges::max_element(at_offset, {}, [](const auto& entry) { return entry.second; });
    result.offset = best->first;
    result.offset_chosen_on = fraction(best->second, result.chosen_on);

    std::int64_t by_head = 0, by_offset = 0, by_head_alone = 0, by_offset_alone = 0;
    for (const Instance& instance : second) {
      const bool head_finds = instance.found_by[result.chosen], offset_finds = instance.offset == result.offset;
      by_head += head_finds ? 1 : 0;
      by_offset += offset_finds ? 1 : 0;
      by_head_alone += head_finds && !offset_finds ? 1 : 0;
      by_offset_alone += offset_finds && !head_finds ? 1 : 0;
    }
    const metrics::Interval interval = metrics::wilson(by_head, result.instances);
    result.accuracy = {fraction(by_head, result.instances), interval.low, interval.high};
    result.baseline = fraction(by_offset, result.instances);
    result.p = metrics::binomial_test(by_head_alone, by_head_alone + by_offset_alone, 0.5);
    p_values.push_back(result.p);
  }
  const std::vector<double> corrected = metrics::holm(p_values);
  for (std::size_t i = 0; i < corrected.size(); ++i) report.relations[i].p_holm = corrected[i];
}

void HabitTally::add(const SeenWords& seen, WordWeights weights, bool is_causal) {
  const std::size_t words = seen.has_pieces.size();
  ensure(weights.size() == words * words && seen.frequencies.size() == words, "a weight for every pair of words");
  for (std::size_t from = 0; from < words; ++from) {
    if (!seen.has_pieces[from]) continue;
    const auto is_seen = [&](std::size_t word) { return seen.has_pieces[word] && !(is_causal && word > from); };
    const WordWeights row = row_of(weights, from, words);
    const std::optional<std::size_t> largest = most_attended(row, is_seen);
    if (!largest) continue;
    ++words_;
    const std::int64_t offset = offset_between(from, *largest);
    if (std::abs(offset) <= 1) ++at_offset_[static_cast<std::size_t>(offset + 1)];
    double sum = 0, expected = 0;
    std::vector<std::size_t> rarest;  // the least frequent words that it sees
    std::size_t num_seen = 0;
    for (std::size_t to = 0; to < words; ++to) {
      if (!is_seen(to)) continue;
      ++num_seen;
      sum += row[to];
      expected += row[to] * static_cast<double>(std::abs(offset_between(from, to)));
      if (!rarest.empty() && seen.frequencies[to] < seen.frequencies[rarest[0]]) rarest.clear();
      if (rarest.empty() || seen.frequencies[to] == seen.frequencies[rarest[0]]) rarest.push_back(to);
    }
    distance_ += expected / sum;
    inside_ += std::min(sum, 1.0);
    if (num_seen < 2 || rarest.size() > 1) continue;
    ++with_rarest_;
    if (rarest[0] == *largest) ++at_rarest_;
  }
}

HeadHabits HabitTally::habits(std::int64_t layer, std::int64_t head) const {
  HeadHabits result{.layer = layer,
                    .head = head,
                    .previous = fraction(at_offset_[0], words_),
                    .self = fraction(at_offset_[1], words_),
                    .next = fraction(at_offset_[2], words_)};
  if (words_ > 0) {
    result.distance = distance_ / static_cast<double>(words_);
    result.outside = 1 - inside_ / static_cast<double>(words_);
  }
  if (with_rarest_ > 0) result.rarest = fraction(at_rarest_, with_rarest_);
  return result;
}

std::string name_of_relation(const HeadRelation& relation) {
  return relation.relation + (relation.to_head ? ": dependent to head" : ": head to dependent");
}

void name_roles(HeadReport& report) {
  constexpr double kSignificant = 0.05;
  for (HeadHabits& head : report.heads) {
    for (const auto& [share, name] :
         {std::pair(head.previous, "previous word"), {head.self, "the word itself"}, {head.next, "next word"}}) {
      if (share >= kPositionalShare) head.roles.emplace_back(name);
    }
    if (head.rarest.value_or(0) >= kRarestShare) head.roles.emplace_back("rare words");
  }
  for (const HeadRelation& relation : report.relations) {
    if (relation.p_holm < kSignificant) report.heads[relation.chosen].roles.push_back(name_of_relation(relation));
  }
}

}  // namespace attend
