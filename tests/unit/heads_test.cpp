// What heads do: their numbers, their arithmetic, and the relations that they follow.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "analysis/attention_arithmetic.hpp"
#include "analysis/attention_output.hpp"
#include "analysis/attention_statistics.hpp"
#include "analysis/head_relations.hpp"
#include "core/error.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// Statistics of attention on matrices whose numbers are known.

HeadStatistics of(const at::Tensor& weights_TS) {
  HeadTally tally;
  tally.add(weights_TS.to(at::kFloat));
  return tally.statistics(2, 3);
}

TEST(AttentionStatistics, OfUniformWeights) {
  const HeadStatistics uniform = of(at::full({3, 5}, 0.2));
  EXPECT_EQ(uniform.layer, 2);
  EXPECT_EQ(uniform.head, 3);
  EXPECT_NEAR(uniform.entropy, std::log(5.0), 1e-6);
  EXPECT_NEAR(uniform.coverage, 0.6, 1e-6);
  EXPECT_NEAR(uniform.distance, (2 + std::abs(2 - 5.0 / 3) + std::abs(2 - 10.0 / 3)) / 3, 1e-6);
  EXPECT_EQ(uniform.monotonicity, 1);
  EXPECT_FALSE(uniform.alignment_error);
}

TEST(AttentionStatistics, OfTheDiagonalAndItsReverse) {
  const HeadStatistics diagonal = of(at::eye(4)), reversed = of(at::eye(4).flip(0));
  EXPECT_NEAR(diagonal.entropy, 0, 1e-6);
  EXPECT_NEAR(diagonal.coverage, 1, 1e-6);
  EXPECT_NEAR(diagonal.distance, 0, 1e-6);
  EXPECT_EQ(diagonal.monotonicity, 1);
  EXPECT_NEAR(reversed.distance, 2, 1e-6);
  EXPECT_EQ(reversed.monotonicity, 0);
}

TEST(AttentionStatistics, CoverageCountsEachPositionOnce) {
  EXPECT_NEAR(of(at::tensor({1.0, 0.0, 1.0, 0.0}).view({2, 2})).coverage, 0.5, 1e-6);
}

TEST(AttentionStatistics, MeansAreOverAllPieces) {
  HeadTally tally;
  tally.add(at::eye(3));
  tally.add(at::full({1, 2}, 0.5));
  EXPECT_NEAR(tally.statistics(0, 0).entropy, std::log(2.0) / 4, 1e-6);
}

TEST(AttentionStatistics, PiecesWithoutWeightsDoNotCount) {
  const HeadStatistics found = of(at::tensor({0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.5}).view({4, 2}));
  EXPECT_NEAR(found.distance, (1 - 2.0 / 4 + std::abs(0.5 - 3 * 2.0 / 4)) / 2, 1e-6);
  EXPECT_NEAR(found.entropy, std::log(2.0) / 2, 1e-6);
  EXPECT_EQ(found.monotonicity, 0) << "one step, from position 1 to 0";
}

TEST(AttentionStatistics, ErrorsOfLinksAgainstGold) {
  HeadTally tally;
  tally.add(at::eye(2));
  tally.add_links({{0, 0}, {1, 1}}, {.sure = {{0, 0}, {1, 1}}, .possible = {{0, 0}, {1, 1}}});
  EXPECT_EQ(tally.statistics(0, 0).alignment_error, 0);
  tally.add_links({{0, 1}}, {.sure = {{0, 0}}, .possible = {{0, 0}}});
  EXPECT_NEAR(*tally.statistics(0, 0).alignment_error, 100.0 / 3, 1e-9);
}

SentenceAttention example() {
  const at::Tensor first = at::tensor({0.5, 0.25, 0.25, 0.0, 0.0, 1.0}).view({1, 2, 3}).to(at::kFloat);
  return {.source = {"a", "b", "</s>"},
          .target = std::vector<std::string>{"c", "</s>"},
          .layers = {{.place = AttentionPlace::cross, .layer = 0, .weights = at::cat({first, 1 - first})},
                     {.place = AttentionPlace::cross, .layer = 1, .weights = at::cat({first, first})}}};
}

TEST(AttentionMaps, AreBytesOfLayersAndHeads) {
  const AttentionMaps maps = maps_of(example(), AttentionPlace::cross, "<s>");
  EXPECT_EQ(maps.source, example().source);
  EXPECT_EQ(maps.target, *example().target);
  EXPECT_EQ(maps.layers, 2);
  EXPECT_EQ(maps.heads, 2);
  EXPECT_EQ(maps.weights.size(), 24u);
  EXPECT_EQ(maps.weights[0], 128);
  EXPECT_EQ(maps.weights[5], 255);
  EXPECT_EQ(maps.weights[11], 0);
}

TEST(AttentionMaps, AChoiceKeepsItsNumbersAndRefusesOthers) {
  const SentenceAttention one = chosen(example(), {.place = AttentionPlace::cross, .layer = 1, .head = 1});
  ASSERT_EQ(one.layers.size(), 1u);
  EXPECT_EQ(one.layers[0].layer, 1);
  EXPECT_EQ(one.layers[0].first_head, 1);
  EXPECT_EQ(one.layers[0].weights.size(0), 1);
  EXPECT_THROW(chosen(example(), {.layer = 2}), UserError);
  EXPECT_THROW(chosen(example(), {.head = 2}), UserError);
  EXPECT_THROW(chosen(example(), {.place = AttentionPlace::decoder}), UserError);
}

TEST(AttentionMaps, PiecesBecomeWords) {
  const SentenceAttention words =
      in_words(example(), {.words = {"ab"}, .pieces = {{0, 1}}}, {.words = {"c"}, .pieces = {{0}}});
  EXPECT_EQ(words.source, std::vector<std::string>{"ab"});
  EXPECT_FLOAT_EQ(words.layers[0].weights[0][0][0].item<float>(), 0.75F);
}

// The table and the members of attend attention --steps, by numbers computed by hand.

using torch::Tensor;

constexpr float kUnseen = -std::numeric_limits<float>::infinity();

// The energies of one query, whatever its operands.
class GivenEnergies final : public Score {
 public:
  Tensor prepare(const Tensor& memory_SW) const override { return memory_SW; }
  Tensor energies(const Tensor& /*queries_TH*/, const Tensor& /*keys_SA*/, const Places& /*places*/) const override {
    return at::tensor({1.0F, 2.0F}).view({1, 1, 1, 2});
  }
  Tensor scale(const Tensor& /*keys_SA*/) const override { return scale_1; }

  Tensor scale_1 = at::tensor({0.5F});
};

class GivenWindow final : public Scope {
 public:
  Window window(const Tensor& /*queries_TH*/, const Places& /*places*/) const override { return given; }

  Window given{.outside_TS = at::zeros({1, 2}, at::kBool), .bias_TS = at::tensor({0.0F, std::log(3.0F) - 1})};
};

// One head with products 2 and 4, a scale of 1/2, and values of lengths 5 and 1; the second query is not looked at. The
// weights are 1/4 and 3/4 by a bias of log 3 - 1 at the second position.
struct Parts {
  std::shared_ptr<GivenEnergies> score = std::make_shared<GivenEnergies>();
  std::shared_ptr<GivenWindow> scope = std::make_shared<GivenWindow>();
};
LayerAttention layer_of_two(AttentionPlace place, const Parts& parts) {
  const Tensor values_BNSW = at::tensor({3.0F, 4.0F, 0.0F, 1.0F}).view({1, 1, 2, 2});
  const AttentionOperands operands{.score = parts.score,
                                   .scope = parts.scope,
                                   .queries_BNTH = at::zeros({1, 1, 2, 2}),
                                   .keys_BNSA = at::zeros({1, 1, 2, 2}),
                                   .values_BNSW = values_BNSW,
                                   .places = {.padding_1S = at::zeros({1, 1, 1, 2}, at::kBool)}};
  return {.place = place,
          .layer = 1,
          .weights = at::tensor({0.25F, 0.75F, 0.5F, 0.5F}).view({1, 2, 2}),
          .operands = operands};
}

SentenceAttention two_pieces(AttentionPlace place = AttentionPlace::cross, const Parts& parts = {}) {
  return {
      .source = {"▁a", "b"}, .target = std::vector<std::string>{"▁c", "▁猫"}, .layers = {layer_of_two(place, parts)}};
}

QueryChoice first_query(AttentionPlace place = AttentionPlace::cross) {
  return {.place = place, .query = 0, .beginning = "<s>"};
}

TEST(QueryArithmetic, OfTwoPositions) {
  EXPECT_EQ(to_text(arithmetic_of(two_pieces(), first_query(), 1)),
            "attention to the source, layer 1, head 0, query 0: predicts ▁c\n"
            "energy = 0.5000 product\n"
            "weight = softmax(energy + bias)\n"
            "vector = Σ weight value\n"
            "\n"
            "   piece  product  energy    bias  weight  ‖value‖  ‖weight value‖\n"
            "0  ▁a      2.0000  1.0000  0.0000  0.2500   5.0000          1.2500\n"
            "1  b       4.0000  2.0000  0.0986  0.7500   1.0000          0.7500\n"
            "\n"
            "Σ weight = 1.0000, ‖vector‖ = 1.9039\n");
}

TEST(QueryArithmetic, OfTheLastQueryUnlessOneIsChosen) {
  QueryChoice choice = first_query();
  choice.query.reset();
  const QueryArithmetic steps = arithmetic_of(two_pieces(), choice, 1);
  EXPECT_EQ(steps.query, 1);
  EXPECT_EQ(steps.piece, "▁猫");
}

TEST(QueryArithmetic, OfAnEncoderAndADecoderNamesWhatTheyRead) {
  SentenceAttention text = two_pieces(AttentionPlace::encoder);
  text.target.reset();
  const std::string encoder = to_text(arithmetic_of(text, first_query(AttentionPlace::encoder), 1));
  EXPECT_TRUE(encoder.starts_with("self-attention of the encoder, layer 1, head 0, query 0: ▁a\n")) << encoder;
  const SentenceAttention pair = two_pieces(AttentionPlace::decoder);
  const QueryArithmetic decoder = arithmetic_of(pair, first_query(AttentionPlace::decoder), 1);
  EXPECT_EQ(decoder.positions, (std::vector<std::string>{"<s>", "▁c"}));
  EXPECT_EQ(decoder.piece, "▁c");
}

TEST(QueryArithmetic, ShowsAMaskAFactorAndACut) {
  const Parts parts;
  SentenceAttention masked = two_pieces(AttentionPlace::cross, parts);
  Tensor& weights = masked.layers[0].weights;
  parts.score->scale_1 = Tensor();
  parts.scope->given = {.outside_TS = at::tensor({0, 1}).to(at::kBool).view({1, 2})};
  weights = at::tensor({1.0F, 0.0F, 0.5F, 0.5F}).view({1, 2, 2});
  const auto has = [&](const std::string& words) {
    const std::string text = to_text(arithmetic_of(masked, first_query(), 1));
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  has("\nweight = softmax(energy + mask)\n");
  has("   piece  energy    mask  weight  ‖value‖  ‖weight value‖\n");
  has("1  b      2.0000    -inf  0.0000   1.0000          0.0000\n");
  parts.scope->given.factor_TS = at::tensor({0.5F, 0.5F});
  weights = weights * 0.5;
  has("\nweight = factor softmax(energy + mask)\n");
  has("   piece  energy    mask  softmax  factor  weight  ‖value‖  ‖weight value‖\n");
  weights = at::tensor({0.3F, 0.0F, 0.5F, 0.5F}).view({1, 2, 2});
  has("softmax(energy + mask), cut by --attention-threshold\n");
}

TEST(QueryArithmetic, OfHardAttentionHasNoSum) {
  SentenceAttention hard = two_pieces();
  hard.layers[0].operands->takes_largest = true;
  const QueryArithmetic steps = arithmetic_of(hard, first_query(), 1);
  EXPECT_TRUE(steps.weighted_norms.empty());
  const std::string text = to_text(steps);
  EXPECT_NE(text.find("vector = value of the largest weight\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("‖weight value‖"), std::string::npos) << text;
}

TEST(QueryArithmetic, AnInfiniteBiasIsShown) {
  const Parts parts;
  parts.scope->given.bias_TS = at::tensor({0.0F, kUnseen});
  const SentenceAttention window = two_pieces(AttentionPlace::cross, parts);
  EXPECT_NE(to_text(arithmetic_of(window, first_query(), 1)).find("    -inf  "), std::string::npos);
}

TEST(QueryArithmetic, RefusesWhatDoesNotExist) {
  const auto expect_refused = [](const QueryChoice& choice, const std::string& message, const std::string& remedy) {
    EXPECT_EQ(error_and_remedy_of([&] { arithmetic_of(two_pieces(), choice, 7); }), message + " | " + remedy);
  };
  expect_refused({.query = 2}, "--query 2: in line 7, 2 pieces attend", "choose one from 0 to 1");
  expect_refused({.head = 1}, "--head 1: layer 1 has 1 head", "choose head 0");
  expect_refused({.layer = 0}, "--layer 0: this model has no such layer", "choose one of 1");
  expect_refused({.place = AttentionPlace::encoder}, "--place encoder: this model has no such attention",
                 "leave --place out");
}

// What heads find and prefer, from weights made by hand.

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
