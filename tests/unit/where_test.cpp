// Where systems differ, and by minimal pairs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/breakdowns.hpp"
#include "analysis/pair_tests.hpp"
#include "core/error.hpp"
#include "eval/metrics/ngram_metrics.hpp"
#include "eval/metrics/significance.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

// Where systems differ, on sets that are counted by hand.

const metrics::Bleu kBleu;

std::string line_of(int count) {
  std::string line;
  for (int i = 0; i < count; ++i) line += "w" + std::to_string(i) + " ";
  return line;
}

// The values of system 0 and 1 of each group, by its name.
std::map<std::string, std::vector<double>> values_of(const Breakdown& breakdown) {
  std::map<std::string, std::vector<double>> values;
  for (const BreakdownGroup& group : breakdown.groups) {
    for (const std::optional<Estimate>& value : group.values) {
      values[group.name].push_back(value ? value->value : -1);
      if (!value) continue;
      EXPECT_FALSE(value->low > value->high) << breakdown.id << ", " << group.name;
    }
  }
  return values;
}

std::map<std::string, std::int64_t> counts_of(const Breakdown& breakdown) {
  std::map<std::string, std::int64_t> counts;
  for (const BreakdownGroup& group : breakdown.groups) counts[group.name] = group.count;
  return counts;
}

using Values = std::map<std::string, std::vector<double>>;
using Counts = std::map<std::string, std::int64_t>;

TEST(WhereSystemsDiffer, LengthsOfSourcesAreInTens) {
  const std::vector<LengthGroup> groups = length_groups(
      {line_of(9), "", line_of(10), line_of(19), line_of(40), line_of(29), line_of(39), line_of(100), line_of(20)});
  ASSERT_EQ(groups.size(), 5u);
  EXPECT_EQ(groups[0].name, "under 10");
  EXPECT_EQ(groups[0].sentences, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(groups[1].sentences, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(groups[2].sentences, (std::vector<std::size_t>{5, 8}));
  EXPECT_EQ(groups[3].sentences, (std::vector<std::size_t>{6}));
  EXPECT_EQ(groups[4].name, "40 and more");
  EXPECT_EQ(groups[4].sentences, (std::vector<std::size_t>{4, 7}));
  EXPECT_EQ(length_groups({line_of(25)}).size(), 1u) << "empty groups are left out";
}

// Precisions 4/5, 3/4, 2/3 and 1/2: BLEU 100 (1/5)^(1/4).
TEST(WhereSystemsDiffer, BleuIsThatOfTheGroupAlone) {
  const TranslatedSet set = {.sources = {line_of(3), line_of(12), line_of(4)},
                             .references = {"a b c d e", "f g h i j", "k l m n o"},
                             .outputs = {{"a b c d e", "f g h i x", "k l m n o"}, {"x y z", "f g h i j", "x y z"}}};
  const Breakdown breakdown = by_length(set, kBleu);
  EXPECT_EQ(breakdown.id, "length");
  EXPECT_EQ(breakdown.measure, "BLEU");
  EXPECT_EQ(breakdown.unit, "sentences");
  EXPECT_EQ(counts_of(breakdown), (Counts{{"under 10", 2}, {"10 to 19", 1}}));
  const Values values = values_of(breakdown);
  EXPECT_NEAR(values.at("under 10")[0], 100, 1e-9);
  EXPECT_EQ(values.at("under 10")[1], 0);
  EXPECT_NEAR(values.at("10 to 19")[0], 100 * std::pow(0.2, 0.25), 1e-9);
  EXPECT_NEAR(values.at("10 to 19")[1], 100, 1e-9);
  EXPECT_TRUE(std::isnan(breakdown.groups[0].values[0]->low)) << "two sentences give no interval";
}

// "the" occurs twice and is produced once; punctuation is a word of its own.
TEST(WhereSystemsDiffer, RecallIsClippedAndGroupedByFrequency) {
  const WordFrequencies frequencies = {{"the", 100}, {"cat", 9}, {"dog", 10}, {"bird", 1}, {".", 10000}, {"sees", 999}};
  const TranslatedSet set = {
      .sources = {"x", "x"},
      .references = {"the cat sees the dog.", "an unseen bird."},
      .outputs = {{"a dog sees the dog.", "bird bird bird"}, {"the the the cat", "an unseen ."}}};
  const Breakdown breakdown = by_frequency(set, frequencies);
  EXPECT_EQ(breakdown.unit, "words");
  EXPECT_EQ(counts_of(breakdown),
            (Counts{{"never", 2}, {"1 to 9", 2}, {"10 to 99", 1}, {"100 to 999", 3}, {"10,000 and more", 2}}));
  const Values values = values_of(breakdown);
  EXPECT_EQ(values.at("never"), (std::vector<double>{0, 100}));            // an, unseen
  EXPECT_EQ(values.at("1 to 9"), (std::vector<double>{50, 50}));           // cat, bird
  EXPECT_EQ(values.at("10 to 99"), (std::vector<double>{100, 0}));         // dog
  EXPECT_NEAR(values.at("100 to 999")[0], 200.0 / 3, 1e-9);                // the (once), sees
  EXPECT_NEAR(values.at("100 to 999")[1], 200.0 / 3, 1e-9);                // the (twice, of three)
  EXPECT_EQ(values.at("10,000 and more"), (std::vector<double>{50, 50}));  // one full stop of two
  EXPECT_TRUE(std::isnan(breakdown.groups.back().values[0]->low)) << "two sentences give no interval";
}

// Intervals of 12 sentences: by the bootstrap over sentences, or Wilson's where all or none of the words are found.
TEST(WhereSystemsDiffer, SmallGroupsHaveWideIntervalsOrNone) {
  TranslatedSet set = {.sources = std::vector<std::string>(12, "x"),
                       .references = std::vector<std::string>(12, "a a b"),
                       .outputs = {std::vector<std::string>(12, "a a b"), std::vector<std::string>(12, "a a")}};
  for (std::size_t i = 0; i < 6; ++i) set.outputs[1][i] = "c";
  for (std::size_t i = 9; i < 12; ++i) set.references[i] = "a a";
  const Breakdown breakdown = by_frequency(set, {{"a", 5}});
  ASSERT_EQ(counts_of(breakdown), (Counts{{"never", 9}, {"1 to 9", 24}}));
  const auto& never = breakdown.groups[0].values;
  EXPECT_TRUE(std::isnan(never[0]->low) && std::isnan(never[1]->high)) << "nine sentences";
  const auto& some = breakdown.groups[1].values;
  EXPECT_EQ(some[0]->value, 100);
  EXPECT_NEAR(some[0]->low, 75.7, 0.1) << "12 of 12";
  EXPECT_EQ(some[1]->value, 50);
  // Pairs of words are found together: 6 of 12 sentences, ± 1.96 sqrt(0.25 / 12) = 28; 24 words would give ± 20.
  EXPECT_LE(some[1]->low, 25.1);
  EXPECT_GE(some[1]->high, 74.9);
}

TEST(WhereSystemsDiffer, FrequenciesAreOfTheWordsThatBleuCounts) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "text") << "A dog, a dog.\ndog\n";
  const WordFrequencies frequencies = count_frequencies({directory / "text"});
  EXPECT_EQ(frequencies, (WordFrequencies{{"A", 1}, {"a", 1}, {"dog", 3}, {",", 1}, {".", 1}}));
  EXPECT_THROW(count_frequencies({directory / "nowhere"}), UserError);
}

// Copied is what both sides have and has a digit or an upper-case letter of any script.
TEST(WhereSystemsDiffer, NamesAndNumbersAreThoseThatBothSidesHave) {
  const TranslatedSet set = {.sources = {"In Übach kauft Anna 3 in Жуковка", "der Hund"},
                             .references = {"Anna buys 3 in Übach , Жуковка", "The 7 dogs"},
                             .outputs = {{"Anna buys 3", "The 7 dogs"}, {"in Übach and Жуковка , dogs", "dogs"}}};
  const Breakdown breakdown = by_copying(set);
  EXPECT_EQ(counts_of(breakdown), (Counts{{"to be copied", 4}, {"others", 6}}));
  const Values values = values_of(breakdown);
  EXPECT_EQ(values.at("to be copied"), (std::vector<double>{50, 50}));  // Anna, 3; Übach, Жуковка
  EXPECT_NEAR(values.at("others")[0], 400.0 / 6, 1e-9);                 // buys, The, 7, dogs of these and in, the comma
  EXPECT_NEAR(values.at("others")[1], 300.0 / 6, 1e-9);                 // in, the comma, dogs
}

// Word i of n is in fifth 5 i / n: of three words the first, second and fourth.
TEST(WhereSystemsDiffer, PlacesAreFifthsOfTheReference) {
  const TranslatedSet set = {.sources = {"x", "x"},
                             .references = {"a b c", "d e f g h i j k l m"},
                             .outputs = {{"a b", "d e f g h"}, {"c", "m l"}}};
  const Breakdown breakdown = by_position(set);
  EXPECT_EQ(counts_of(breakdown),
            (Counts{{"first fifth", 3}, {"second", 3}, {"third", 2}, {"fourth", 3}, {"last fifth", 2}}));
  const Values values = values_of(breakdown);
  EXPECT_EQ(values.at("first fifth"), (std::vector<double>{100, 0}));  // a, d, e
  EXPECT_EQ(values.at("second"), (std::vector<double>{100, 0}));       // b, f, g
  EXPECT_EQ(values.at("third"), (std::vector<double>{50, 0}));         // h, i
  EXPECT_NEAR(values.at("fourth")[1], 100.0 / 3, 1e-9);                // c, j, k
  EXPECT_EQ(values.at("last fifth"), (std::vector<double>{0, 100}));   // l, m
}

TEST(WhereSystemsDiffer, EmptyTextsHaveNoWords) {
  const TranslatedSet set = {.sources = {"", "a"}, .references = {"", ""}, .outputs = {{"", "a"}}};
  EXPECT_TRUE(by_frequency(set, {}).groups.empty());
  EXPECT_TRUE(by_copying(set).groups.empty());
  EXPECT_TRUE(by_position(set).groups.empty());
  EXPECT_TRUE(ngram_differences(set).empty());
  ASSERT_EQ(by_length(set, kBleu).groups.size(), 1u);
  EXPECT_EQ(by_length(set, kBleu).groups[0].values[0]->value, 0);
}

// The greatest smoothed ratio first, equal ones by their text; matches are clipped in each sentence.
TEST(WhereSystemsDiffer, NgramsOfUnequalMatchesAreOrdered) {
  const TranslatedSet set = {.sources = {"x", "x", "x"},
                             .references = {"a b c", "b d", "b b"},
                             .outputs = {{"a b c", "x", "b"}, {"c b b", "b d", "b b b"}}};
  // [text], in the reference, matched by 0 and 1:  b 4: 2, 4   a 1: 1, 0   c 1: 1, 1   d 1: 0, 1
  // a b 1: 1, 0   b c 1: 1, 0   b d 1: 0, 1   b b 1: 0, 1   a b c 1: 1, 0
  const std::vector<NgramDifference> found = ngram_differences(set);
  const std::vector<std::string> order = {"a", "a b", "a b c", "b b", "b c", "b d", "d", "b"};
  ASSERT_EQ(found.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(found[i].text, order[i]) << i;
  EXPECT_EQ(found[7].in_reference, 4);
  EXPECT_EQ(found[7].matched, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(found[2].in_reference, 1);
  EXPECT_EQ(found[2].matched, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(found[3].matched, (std::vector<std::int64_t>{0, 1}));
  const std::vector<NgramDifference> first = ngram_differences(set, 2);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[1].text, "a b");
}

// Accuracies and tests of systems on minimal pairs, from log-probabilities written here.

// Six pairs: "a" at the distances 1, 1 and 4, "b" without one.
PairsFile contrasted_pairs() {
  PairsFile file{.name = "pairs.tsv", .pairs = {}};
  for (const std::int64_t distance : {1, 1, 4}) {
    file.pairs.push_back({.kind = "a", .distance = distance, .better = "x", .worse = "y"});
  }
  for (int i = 0; i < 3; ++i) file.pairs.push_back({.kind = "b", .better = "x", .worse = "y"});
  return file;
}

// A right pair is '+', a wrong one '-', and '=' has equal probabilities.
std::vector<PairLogProbs> contrasted_scores(const std::string& judged) {
  std::vector<PairLogProbs> scores;
  for (const char c : judged) scores.push_back({.better = -2, .worse = c == '+' ? -3.0 : c == '-' ? -1.0 : -2.0});
  return scores;
}

TEST(Contrasts, AreCountedByKindAndDistanceForEachSystem) {
  const ContrastSet set =
      contrast_set(contrasted_pairs(), {contrasted_scores("++-+--"), std::nullopt, contrasted_scores("+=++++")});
  EXPECT_EQ(set.file, "pairs.tsv");
  EXPECT_EQ(set.all.pairs, 6);
  ASSERT_EQ(set.all.values.size(), 3U);
  EXPECT_DOUBLE_EQ(set.all.values[0]->value, 50);
  EXPECT_FALSE(set.all.values[1]);
  EXPECT_DOUBLE_EQ(set.all.values[2]->value, 500.0 / 6) << "equal probabilities are wrong";
  const metrics::Interval interval = metrics::wilson(5, 6);
  EXPECT_DOUBLE_EQ(set.all.values[2]->low, 100 * interval.low);
  EXPECT_DOUBLE_EQ(set.all.values[2]->high, 100 * interval.high);
  ASSERT_EQ(set.kinds.size(), 2U);
  EXPECT_EQ(set.kinds.at("b").pairs, 3);
  EXPECT_DOUBLE_EQ(set.kinds.at("b").values[0]->value, 100.0 / 3);
  ASSERT_EQ(set.distances.size(), 2U);
  EXPECT_EQ(set.distances.at(1).pairs, 2);
  EXPECT_DOUBLE_EQ(set.distances.at(1).values[2]->value, 50);
  EXPECT_DOUBLE_EQ(set.distances.at(4).values[0]->value, 0);
  EXPECT_FALSE(set.distances.at(4).values[1]);
}

TEST(Contrasts, AreTestedForEachTwoSystemsWithAModel) {
  const ContrastSet set = contrast_set(contrasted_pairs(), {contrasted_scores("------"), contrasted_scores("++++++"),
                                                            std::nullopt, contrasted_scores("-++++-")});
  ASSERT_EQ(set.tests.size(), 3U);
  EXPECT_EQ(set.tests[1].a, 0);
  EXPECT_EQ(set.tests[1].b, 3);
  EXPECT_EQ(set.tests[1].only_a, 0);
  EXPECT_EQ(set.tests[1].only_b, 4);
  EXPECT_EQ(set.tests[2].only_a, 2);
  EXPECT_NEAR(set.tests[0].p, 2.0 / 64, 1e-12);
  EXPECT_NEAR(set.tests[0].p_holm, 6.0 / 64, 1e-12) << "the smallest of three";
  EXPECT_NEAR(set.tests[1].p_holm, 4.0 / 16, 1e-12);
  EXPECT_NEAR(set.tests[2].p_holm, 0.5, 1e-12);
}

}  // namespace
}  // namespace attend
