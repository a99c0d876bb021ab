#include "analysis/head_relations.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>

#include "analysis/report/section_parts.hpp"
#include "core/error.hpp"
#include "eval/metrics/significance.hpp"

namespace attend {
namespace {

// The word with the largest weight among those that `may_be`, the first of equals; none if all weights are 0.
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
    auto& [all, at_offset] = relations_[{relation, to_head}][half];
    const std::array counts = {&all, &at_offset[offset_between(from, to)]};
    for (Count* const each : counts) {
      ++each->instances;
      each->found_by.resize(num_heads_);
    }
    const auto is_other = [&](std::size_t word) { return word != from && seen.has_pieces[word]; };
    for (std::size_t h = 0; h < num_heads_; ++h) {
      if (most_attended(row_of(heads[h], from, words), is_other) != to) continue;
      for (Count* const each : counts) ++each->found_by[h];
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
  for (const auto& [relation, halves] : relations_) sum += halves[0].all.instances + halves[1].all.instances;
  return sum;
}

void RelationTally::write(HeadReport& report) const {
  for (const auto& [name, halves] : relations_) {
    const auto& [first, second] = halves;
    if (std::min(first.all.instances, second.all.instances) < kFewestInstances) {
      ++report.rare_relations;
      continue;
    }
    HeadRelation& result = report.relations.emplace_back();
    result.relation = name.first;
    result.to_head = name.second;
    result.chosen_on = first.all.instances;
    result.instances = second.all.instances;
    const std::vector<std::int64_t>& found = first.all.found_by;
    for (const std::int64_t hits : found) result.by_head.push_back(fraction(hits, result.chosen_on));
    result.chosen = std::ranges::max_element(found) - found.begin();
    const auto best =
        std::ranges::max_element(first.at_offset, {}, [](const auto& entry) { return entry.second.instances; });
    result.offset = best->first;
    result.offset_chosen_on = fraction(best->second.instances, result.chosen_on);

    const auto at_offset = second.at_offset.find(result.offset);
    const bool occurs = at_offset != second.at_offset.end();
    const std::int64_t by_head = second.all.found_by[result.chosen];
    const std::int64_t by_offset = occurs ? at_offset->second.instances : 0;
    const std::int64_t by_both = occurs ? at_offset->second.found_by[result.chosen] : 0;
    const metrics::Interval interval = metrics::wilson(by_head, result.instances);
    result.accuracy = {fraction(by_head, result.instances), interval.low, interval.high};
    result.baseline = fraction(by_offset, result.instances);
    result.p = metrics::binomial_test(by_head - by_both, by_head + by_offset - 2 * by_both, 0.5);
  }
  metrics::correct_by_holm(report.relations, &HeadRelation::p);
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
    if (std::abs(offset) <= 1) ++at_offset_[offset + 1];
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

void name_roles(HeadReport& report) {
  for (HeadHabits& head : report.heads) {
    for (const auto& [share, name] :
         {std::pair(head.previous, "previous word"), {head.self, "the word itself"}, {head.next, "next word"}}) {
      if (share >= kPositionalShare) head.roles.emplace_back(name);
    }
    if (head.rarest.value_or(0) >= kRarestShare) head.roles.emplace_back("rare words");
  }
  for (const HeadRelation& relation : report.relations) {
    if (relation.p_holm >= kSignificant) continue;
    report.heads[relation.chosen].roles.push_back(relation.relation + ": " + relation.direction());
  }
}

}  // namespace attend
