// What heads attend to, from weights between words and dependency trees: the relations that they find (Clark et al.
// 2019, arXiv 1906.04341, section 4.2), and the positions and rare words that they prefer (Voita et al. 2019, arXiv
// 1905.09418, section 5).
//
//   dogs chase cats, chase <-nsubj- dogs, chase -obj-> cats
//   A head whose weights of "dogs" are (.6, .3, .1) points to "chase", the largest but for "dogs" itself: it finds
//   nsubj from the dependent to its head, and so does the offset +1.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/head_report.hpp"
#include "data/text/conll.hpp"

namespace attend {

// The words of a sentence as heads see them.
struct SeenWords {
  std::vector<bool> has_pieces;           // false: the word neither attends nor is attended to
  std::vector<std::int64_t> frequencies;  // in the text
};

// The weights of one head between W words, [W, W], row by row: row i has those of word i.
using WordWeights = std::span<const double>;

// The relations that heads find, counted separately in sentences of even and of odd number.
class RelationTally {
 public:
  // Causal heads see no later words, so only relations to an earlier word count.
  RelationTally(std::size_t num_heads, bool is_causal) : num_heads_(num_heads), is_causal_(is_causal) {}

  // The next sentence, with the weights of every head.
  void add(const TreeSentence& tree, const SeenWords& seen, std::span<const WordWeights> heads);

  std::int64_t instances() const;

  // Sets the relations of a report, and the number of those that are too rare. For each relation and direction, the
  // head and the offset that are most accurate in the first half (the first of equals) are compared in the second, by
  // the exact one-sided test of the instances that only one of them finds (McNemar 1947), with Holm's correction.
  void write(HeadReport& report) const;

 private:
  struct Count {
    std::int64_t instances = 0;
    std::vector<std::int64_t> found_by = {};  // parallel to heads
  };
  struct Half {
    Count all = {};
    std::map<std::int64_t, Count> at_offset = {};  // of the word to find from the one that attends
  };
  using Halves = std::array<Half, 2>;

  std::size_t num_heads_;
  bool is_causal_;
  std::size_t sentences_ = 0;
  std::map<std::pair<std::string, bool>, Halves> relations_;  // by relation and `to_head`
};

// The habits of one head.
class HabitTally {
 public:
  // The weights of a sentence. A word whose weights are all 0 is not counted. Rare words count only if, of at least two
  // words seen, one alone is the least frequent.
  void add(const SeenWords& seen, WordWeights weights, bool is_causal);
  // All but the entropy, which is of pieces and left at 0. Without words, all are 0.
  HeadHabits habits(std::int64_t layer, std::int64_t head) const;

 private:
  std::int64_t words_ = 0, at_rarest_ = 0, with_rarest_ = 0;
  std::array<std::int64_t, 3> at_offset_ = {};  // -1, 0, 1
  double distance_ = 0, inside_ = 0;
};

// Sets the roles of all heads of a report from its other numbers: a position, rare words, and relations for which the
// head is chosen and significantly more accurate than the offset.
void name_roles(HeadReport& report);

}  // namespace attend
