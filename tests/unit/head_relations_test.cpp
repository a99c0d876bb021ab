// What heads find and prefer, from weights made by hand.
#include "analysis/head_relations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attend {
namespace {

using HandWeights = std::vector<double>;

struct HandWord {
  std::string form;
  std::size_t head;
  std::string relation;
};

TreeSentence tree_by_hand(const std::vector<HandWord>& words) {
  TreeSentence tree;
  for (const HandWord& word : words) {
    const std::size_t begin = tree.text.empty() ? 0 : tree.text.size() + 1;
    tree.text += (tree.text.empty() ? "" : " ") + word.form;
    tree.places.emplace_back(begin, tree.text.size());
    TreeWord& made = tree.words.emplace_back();
    made.form = word.form;
    made.head = word.head;
    made.relation = word.relation;
  }
  return tree;
}

// The subject before its verb, or after it; always a word behind them.
TreeSentence subject_first() { return tree_by_hand({{"dogs", 2, "nsubj"}, {"bark", 0, "root"}, {"now", 2, "advmod"}}); }
TreeSentence verb_first() { return tree_by_hand({{"bark", 0, "root"}, {"dogs", 1, "nsubj"}, {"now", 1, "advmod"}}); }

SeenWords all_seen(std::size_t words) {
  return {.has_pieces = std::vector<bool>(words, true), .frequencies = std::vector<std::int64_t>(words, 1)};
}

// A head that points from the verb to its subject, and from the others, beside themselves, to the verb.
HandWeights syntactic_head(bool is_subject_first) {
  return is_subject_first ? HandWeights{0.6, 0.4, 0, 1, 0, 0, 0, 0.3, 0.7}
                          : HandWeights{0, 1, 0, 0.4, 0.6, 0, 0.3, 0, 0.7};
}
const HandWeights kNextWordHead = {0, 1, 0, 0, 0, 1, 0, 0, 1};

// Half 1: 15 of 20 subjects come first. Half 2: 5 of them, at one of which the head points to the wrong word.
RelationTally tally_by_hand(std::size_t in_second_half = 20) {
  RelationTally tally(2, /*is_causal=*/false);
  const auto add = [&](bool is_subject_first, const HandWeights& syntactic) {
    const std::vector<WordWeights> heads = {syntactic, kNextWordHead};
    tally.add(is_subject_first ? subject_first() : verb_first(), all_seen(3), heads);
  };
  for (std::size_t k = 0; k < 20; ++k) {
    add(k < 15, syntactic_head(k < 15));
    HandWeights second = syntactic_head(k < 5);
    if (k == 0) second = {0.6, 0.1, 0.3, 1, 0, 0, 0, 0.3, 0.7};
    if (k < in_second_half) {
      add(k < 5, second);
    } else {
      tally.add(tree_by_hand({{"bark", 0, "root"}}), all_seen(1), std::vector<WordWeights>(2, WordWeights()));
    }
  }
  return tally;
}

const HeadRelation& relation_named(const HeadReport& report, const std::string& name, bool to_head) {
  return *std::ranges::find_if(report.relations, [&](const HeadRelation& relation) {
    return relation.relation == name && relation.to_head == to_head;
  });
}

TEST(HeadRelations, AHeadIsChosenOnOneHalfAndMeasuredOnTheOther) {
  HeadReport report;
  tally_by_hand().write(report);
  ASSERT_EQ(report.relations.size(), 4U) << "nsubj and advmod in both directions";
  EXPECT_EQ(report.rare_relations, 0);
  const HeadRelation& subject = relation_named(report, "nsubj", true);
  EXPECT_EQ(subject.chosen_on, 20);
  EXPECT_EQ(subject.instances, 20);
  EXPECT_EQ(subject.chosen, 0U);
  EXPECT_EQ(subject.by_head, (std::vector<double>{1, 0.75}))
      << "the largest weight of the others counts, not that of itself";
  EXPECT_EQ(subject.offset, 1);
  EXPECT_EQ(subject.offset_chosen_on, 0.75);
  EXPECT_EQ(subject.baseline, 0.25) << "the offset of the first half, in the second";
  EXPECT_EQ(subject.accuracy.value, 0.95);

  // Wilson's interval of 19 in 20.
  const double z = 1.959963984540054, n = 20, f = 0.95;
  const double centre = (f + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(f * (1 - f) / n + z * z / (4 * n * n));
  EXPECT_NEAR(subject.accuracy.low, centre - half, 1e-12);
  EXPECT_NEAR(subject.accuracy.high, centre + half, 1e-12);
  EXPECT_NEAR(subject.accuracy.low, 0.764, 5e-4);

  // Of 16 instances that only one finds, the head finds 15: (16 + 1) / 2^16; third of four tests.
  EXPECT_NEAR(subject.p, 17.0 / 65536, 1e-15);
  EXPECT_NEAR(subject.p_holm, 2 * subject.p, 1e-15);

  const HeadRelation& adverb = relation_named(report, "advmod", false);
  EXPECT_EQ(adverb.chosen, 1U) << "the next word, as the offset";
  EXPECT_EQ(adverb.accuracy.value, adverb.baseline);
  EXPECT_NEAR(adverb.p, 1, 1e-12) << "no instance is found by only one of them";
}

TEST(HeadRelations, RareOnesAreLeftOut) {
  HeadReport report;
  tally_by_hand(19).write(report);
  EXPECT_TRUE(report.relations.empty());
  EXPECT_EQ(report.rare_relations, 4);
}

TEST(HeadRelations, OnlyWhatTheModelSeesCounts) {
  const HandWeights weights = syntactic_head(true);
  const std::vector<WordWeights> heads = {weights};
  SeenWords without_last = all_seen(3);
  without_last.has_pieces[2] = false;
  const auto instances = [&](bool is_causal, const SeenWords& seen) {
    RelationTally tally(1, is_causal);
    tally.add(subject_first(), seen, heads);
    return tally.instances();
  };
  EXPECT_EQ(instances(false, all_seen(3)), 4);
  EXPECT_EQ(instances(true, all_seen(3)), 2) << "from bark to dogs, and from now to bark";
  EXPECT_EQ(instances(false, without_last), 2);
}

TEST(HeadHabits, AreSharesOfWords) {
  HabitTally tally;
  SeenWords seen = all_seen(3);
  seen.frequencies = {9, 2, 5};
  const HandWeights weights = {0.2, 0.6, 0, 0, 0.3, 0.1, 0.1, 0.5, 0.4};
  tally.add(seen, weights, /*is_causal=*/false);
  const HeadHabits habits = tally.habits(3, 1);
  EXPECT_EQ(habits.layer, 3);
  EXPECT_EQ(habits.head, 1);
  EXPECT_NEAR(habits.next, 1.0 / 3, 1e-12);
  EXPECT_NEAR(habits.self, 1.0 / 3, 1e-12);
  EXPECT_NEAR(habits.previous, 1.0 / 3, 1e-12);
  EXPECT_EQ(habits.rarest, 1) << "all point to the second word";
  EXPECT_NEAR(habits.distance, (0.6 / 0.8 + 0.1 / 0.4 + (0.5 + 2 * 0.1)) / 3, 1e-12);
  EXPECT_NEAR(habits.outside, 1 - (0.8 + 0.4 + 1.0) / 3, 1e-12);
}

TEST(HeadHabits, ACausalHeadSeesNoLaterWordAndTiedWordsAreNotRarest) {
  HabitTally tally;
  SeenWords seen = all_seen(3);
  seen.frequencies = {2, 9, 2};
  tally.add(seen, HandWeights{1, 0, 0, 0.2, 0.8, 0, 0.5, 0.1, 0.4}, /*is_causal=*/true);
  EXPECT_EQ(tally.habits(0, 0).rarest, 0) << "only the second word sees a single least frequent one, and another word";
  HabitTally nothing;
  nothing.add(seen, HandWeights(9), false);
  EXPECT_FALSE(nothing.habits(0, 0).rarest);
  EXPECT_EQ(nothing.habits(0, 0).outside, 0);
}

TEST(HeadRoles, FollowTheNumbers) {
  HeadReport report;
  tally_by_hand().write(report);
  report.heads = {{.layer = 0, .head = 0, .rarest = 0.5}, {.layer = 0, .head = 1, .previous = 0.89, .next = 0.9}};
  name_roles(report);
  EXPECT_EQ(report.heads[0].roles, (std::vector<std::string>{"rare words", "advmod: dependent to head",
                                                             "nsubj: head to dependent", "nsubj: dependent to head"}));
  EXPECT_EQ(report.heads[1].roles, std::vector<std::string>{"next word"}) << "its relation is not significant";
}

}  // namespace
}  // namespace attend
