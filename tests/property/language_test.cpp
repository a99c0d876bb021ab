// Properties of every language model that the options allow: steps equal forward, no token is read before its turn, a
// batch equals its texts, and a text continues from the state that a segment leaves.
#include "models/language/language_model.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "eval/attention.hpp"
#include "models/attention/parts.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/ops/dispatch.hpp"
#include "tests/support/combinations.hpp"
#include "tests/support/device.hpp"
#include "tests/support/model_properties.hpp"
#include "tests/support/sentences.hpp"

namespace attend {
namespace {

using torch::Tensor;
using Texts = std::vector<std::vector<std::int64_t>>;

const std::vector<std::int64_t> kTextLengths = {5, 2, 7, 3, 6};
const std::vector<std::int64_t> kCuts = {2, 1, 6, 1, 3};  // of each text, where its first segment ends

double largest_of(const Tensor& x) { return x.abs().max().item<double>(); }

// Within 1e-5 of the largest value, however small: stacks without norms and residual sums shrink what they read.
void expect_alike(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_LE(largest_of(a - b), 1e-5 * std::max(largest_of(b), double{std::numeric_limits<float>::min()}));
}

void expect_told_apart(const Tensor& a, const Tensor& b) { EXPECT_GT(largest_of(a - b), 1e-4 * largest_of(b)); }

Tensor text_states(const LanguageModelImpl& model, const Texts& texts, Carried* carried = nullptr) {
  Pass inference = Pass::inference();
  return model.forward(sequences_of(texts), inference, carried);
}

// Rows of several texts side by side, which end one after another.
void expect_steps_are_hidden_states(const LanguageModelImpl& model) {
  const Texts texts = random_sentences(kTextLengths, 1);
  const Layout layout = sequences_of(texts).layout;
  const Tensor expected = logits_of(model, text_states(model, texts));
  Pass inference = Pass::inference();
  const auto state = TextsToContinue(model, layout.size()).start();
  std::vector<std::int64_t> rows(texts.size());
  for (std::size_t b = 0; b < rows.size(); ++b) rows[b] = static_cast<std::int64_t>(b);
  for (std::int64_t t = 0; !rows.empty(); ++t) {
    std::vector<std::int64_t> read, places, kept, kept_rows;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      read.push_back(texts[static_cast<std::size_t>(rows[r])][static_cast<std::size_t>(t)]);
      places.push_back(layout.offsets[rows[r]] + t);
      if (t + 1 == layout.length(rows[r])) continue;
      kept.push_back(static_cast<std::int64_t>(r));
      kept_rows.push_back(rows[r]);
    }
    expect_alike(model.step(*state, tokens(read), inference), expected.index_select(0, tokens(places)));
    rows = kept_rows;
    if (!rows.empty()) state->select(kept);
  }
}

void expect_no_token_is_read_before_its_turn(const LanguageModelImpl& model) {
  const Texts texts = random_sentences({7}, 1);
  const Tensor hidden = text_states(model, texts);
  for (std::int64_t t = 0; t < 7; ++t) {
    Texts changed = texts;
    std::int64_t& token = changed[0][static_cast<std::size_t>(t)];
    token = 4 + (token - 4 + 11) % 30;
    const Tensor otherwise = text_states(model, changed);
    if (t > 0) expect_alike(otherwise.narrow(0, 0, t), hidden.narrow(0, 0, t));
    expect_told_apart(otherwise.narrow(0, t, 1), hidden.narrow(0, t, 1));
  }
}

void expect_a_batch_is_its_texts(const LanguageModelImpl& model) {
  const Texts texts = random_sentences(kTextLengths, 1);
  const Layout layout = sequences_of(texts).layout;
  const Tensor together = text_states(model, texts);
  for (std::size_t b = 0; b < texts.size(); ++b) {
    expect_alike(together.narrow(0, layout.offsets[b], std::ssize(texts[b])), text_states(model, {texts[b]}));
  }
}

// Rows that split, change places and are dropped.
void expect_selected_rows_continue_their_texts(const LanguageModelImpl& model) {
  Pass inference = Pass::inference();
  const auto state = model.start(4);
  model.step(*state, tokens({2, 2, 2, 2}), inference);
  model.step(*state, tokens({8, 9, 10, 11}), inference);
  state->select(std::vector<std::int64_t>{3, 1, 1});
  model.step(*state, tokens({12, 13, 14}), inference);
  state->select(std::vector<std::int64_t>{2, 0, 2, 1});
  const Tensor selected = model.step(*state, tokens({15, 16, 17, 18}), inference);
  const Texts texts = {{2, 9, 14, 15}, {2, 11, 12, 16}, {2, 9, 14, 17}, {2, 9, 13, 18}};
  expect_alike(selected, logits_of(model, text_states(model, texts)).index_select(0, tokens({3, 7, 11, 15})));
}

// The first and second segments of texts.
std::pair<Texts, Texts> cut_in_two(const Texts& texts) {
  std::pair<Texts, Texts> segments;
  for (std::size_t b = 0; b < texts.size(); ++b) {
    segments.first.emplace_back(texts[b].begin(), texts[b].begin() + kCuts[b]);
    segments.second.emplace_back(texts[b].begin() + kCuts[b], texts[b].end());
  }
  return segments;
}

// The rows of texts of which the segments were read one after another.
Tensor joined(const Tensor& first_MH, const Tensor& second_MH, const Texts& texts) {
  std::vector<Tensor> parts;
  std::int64_t first = 0, second = 0;
  for (std::size_t b = 0; b < texts.size(); ++b) {
    const std::int64_t after = std::ssize(texts[b]) - kCuts[b];
    parts.push_back(first_MH.narrow(0, first, kCuts[b]));
    parts.push_back(second_MH.narrow(0, second, after));
    first += kCuts[b];
    second += after;
  }
  return at::cat(parts);
}

void expect_segments_are_one_text(const LanguageModelImpl& model) {
  const Texts texts = random_sentences(kTextLengths, 1);
  const auto [before, after] = cut_in_two(texts);
  Carried carried, begun{.parts = model.beginning(std::ssize(texts))};
  const Tensor first = text_states(model, before, &carried);
  const Carried as_left = carried;
  const Tensor second = text_states(model, after, &carried);
  expect_alike(joined(first, second, texts), text_states(model, texts));
  expect_alike(text_states(model, before, &begun), first);
  expect_told_apart(text_states(model, after), second);
  ASSERT_EQ(begun.parts.size(), as_left.parts.size());
  for (std::size_t i = 0; i < begun.parts.size(); ++i) expect_alike(begun.parts[i], as_left.parts[i]);
}

// The loss of two segments of each text, the second with what the first left; its gradients replace those in the
// parameters.
Tensor loss_of_segments(const LanguageModelImpl& model) {
  for (const Tensor& parameter : model.parameters()) parameter.mutable_grad() = Tensor();
  const auto [before, after] = cut_in_two(random_sentences(kTextLengths, 1));
  Pass pass = Pass::train(3);
  Carried carried;
  Tensor loss = at::zeros({}).to(test_device());
  for (const Texts& segments : {before, after}) {
    const Sequences read = sequences_of(segments);
    const Tensor hidden = model.forward(read, pass, &carried);
    for (const Tensor& part : carried.parts) EXPECT_FALSE(part.requires_grad());
    const Tensor labels_M = (read.ids_M * 5 + 1) % kVocabulary;
    loss = loss + ops::cross_entropy(hidden, model.output_table(), {}, labels_M, 0.1).loss;
  }
  loss.backward();
  return loss.detach();
}

void expect_all_of(const LanguageModelImpl& model) {
  const auto without_gradients = [&] {
    const at::NoGradGuard no_grad;
    expect_steps_are_hidden_states(model);
    expect_no_token_is_read_before_its_turn(model);
    expect_a_batch_is_its_texts(model);
    expect_selected_rows_continue_their_texts(model);
  };
  without_gradients();
  {
    const ops::PlainOps plain;
    without_gradients();
  }
  expect_plain_ops_give_the_same_gradients(model, [&] { return loss_of_segments(model); });
  expect_every_gradient(model);
}

// A limit is that of a table, which a higher one makes longer.
void expect_a_table_limits(const LanguageOptions& options, const LanguageModelImpl& model) {
  const auto numbers_in = [](const LanguageModelImpl& it) {
    std::int64_t count = 0;
    for (const auto& [name, tensor] : weights_of(it)) count += tensor.numel();
    return count;
  };
  LanguageOptions higher = options;
  higher.stack.max_positions += 3;
  const bool has_table = numbers_in(*make_language_model(higher, kVocabulary)) > numbers_in(model);
  EXPECT_EQ(model.longest(), has_table ? std::optional(options.stack.max_positions) : std::nullopt);
}

LanguageModel with_random_weights(const LanguageOptions& options, PretrainingKind objective = PretrainingKind::causal) {
  const LanguageModel model = make_language_model(options, kVocabulary, objective);
  initialise(*model, 7);
  model->to(test_device());
  return model;
}

LanguageOptions drawn_language(RandomStream& random) {
  LanguageOptions options;
  options.stack.layers = 2;
  options.stack.width = 12;
  options.stack.max_positions = 8;
  options.stack.dropout = 0;
  draw_options(bind(options.stack),
               {{"heads", {1, 2, 3, 6, 12}},
                {"feed-forward", {0, 19}},
                {"self-window", {0, 0, 2}},
                {"embedding-width", {12, 12, 6}}},
               random);
  options.stack.block.attention_dropout = 0;
  if (options.stack.block.feed_forward == 0) options.stack.block.activation = StackOptions().block.activation;
  if (random.below(2) == 1) options.memory = 7;  // no first segment is longer
  if (options.stack.initialiser == Initialiser::of_family) options.stack.initial_deviation = 0.3;
  return options;
}

TEST(LanguageModels, OfEveryCombinationOfBlocksHoldWhatEveryModelHolds) {
  const auto make = [](const LanguageOptions& options) { return with_random_weights(options); };
  for_each_combination(drawn_language, make, [](const LanguageOptions& options, auto& model) {
    expect_all_of(model);
    expect_a_table_limits(options, model);
    const at::NoGradGuard no_grad;
    if (options.memory > 0) return expect_segments_are_one_text(model);
    const auto [before, after] = cut_in_two(random_sentences(kTextLengths, 1));
    Carried carried{.parts = model.beginning(std::ssize(before))};
    EXPECT_TRUE(carried.parts.empty());
    text_states(model, before, &carried);
    expect_alike(text_states(model, after, &carried), text_states(model, after));
  });
}

// Read from left to right, a hybrid is a language model; read in both directions, the state of a token depends on those
// after it, and selected states are those of a whole text.
void expect_both_readings(const LanguageModelImpl& model) {
  expect_steps_are_hidden_states(model);
  expect_no_token_is_read_before_its_turn(model);
  const Texts texts = random_sentences(kTextLengths, 1);
  const Sequences read = sequences_of(texts);
  Pass pass = Pass::inference();
  const Tensor both = model.read_both_sides(read, pass, {});
  for (const std::int64_t row : {0, 8}) {  // of texts of 5 and 7 tokens
    Texts changed = texts;
    std::int64_t& next = row == 0 ? changed[0][1] : changed[2][2];
    next = 4 + (next - 4 + 11) % 30;
    const Tensor otherwise = model.read_both_sides(sequences_of(changed), pass, {});
    EXPECT_GT(largest_of((otherwise - both).narrow(0, row, 1)), 1e-6 * largest_of(both)) << "sees the next token";
    expect_alike(otherwise.narrow(0, 5, 2), both.narrow(0, 5, 2));  // of another text
  }
  const Selection selected = select({1, 6, 13}, read.layout, test_device());
  expect_alike(model.read_both_sides(read, pass, selected), selected.of(both));
  const ops::PlainOps plain;
  expect_alike(model.read_both_sides(read, pass, {}), both);
}

TEST(HybridModels, OfEveryCombinationOfBlocksReadFromLeftToRightAndBothSides) {
  const auto draw = [](RandomStream& random) {
    LanguageOptions options = drawn_language(random);
    options.memory = 0;
    return options;
  };
  const auto make = [](const LanguageOptions& options) {
    return with_random_weights(options, PretrainingKind::hybrid);
  };
  for_each_combination(draw, make, [](const LanguageOptions& /*options*/, auto& model) {
    const at::NoGradGuard no_grad;
    expect_both_readings(model);
  });
}

LanguageOptions with_memory(std::int64_t memory, std::int64_t layers, PositionKind positions) {
  LanguageOptions options;
  options.memory = memory;
  options.stack.layers = layers;
  options.stack.width = 12;
  options.stack.dropout = 0;
  options.stack.initial_deviation = 0.3;
  options.stack.block.heads = 3;
  options.stack.block.positions = positions;
  options.stack.block.attention_dropout = 0;
  return options;
}

std::vector<PositionKind> positions_of_distances() {
  std::vector<PositionKind> kinds;
  for (const auto& [kind, name] : kEnumNames<PositionKind>) {
    if (!recipe_of(kind).is_added()) kinds.push_back(kind);
  }
  return kinds;
}

// In one layer, a segment sees the last positions before it as if its text began there.
TEST(LanguageMemory, HasTheLastPositionsAlone) {
  const at::NoGradGuard no_grad;
  const Texts texts = random_sentences({9}, 1);
  const auto part = [&](std::int64_t first, std::int64_t end) {
    return Texts{{texts[0].begin() + first, texts[0].begin() + end}};
  };
  for (const PositionKind positions : positions_of_distances()) {
    SCOPED_TRACE(name_of(positions));
    const LanguageModel model = with_random_weights(with_memory(/*memory=*/3, /*layers=*/1, positions));
    Carried carried;
    text_states(*model, part(0, 2), &carried);
    // Two positions are known before the second segment, and three of five before the third.
    expect_alike(text_states(*model, part(2, 5), &carried), text_states(*model, part(0, 5)).narrow(0, 2, 3));
    const Tensor third = text_states(*model, part(5, 9), &carried);
    expect_alike(third, text_states(*model, part(2, 9)).narrow(0, 3, 4));
    expect_told_apart(third, text_states(*model, part(1, 9)).narrow(0, 4, 4));
    expect_told_apart(third, text_states(*model, part(5, 9)));
  }
}

// What lies further back than one segment is remembered, too, in blocks of one size.
TEST(LanguageMemory, GoesBackOverSeveralSegments) {
  const at::NoGradGuard no_grad;
  const Texts texts = random_sentences({7, 7}, 1);
  for (const PositionKind positions : positions_of_distances()) {
    SCOPED_TRACE(name_of(positions));
    const LanguageModel model = with_random_weights(with_memory(/*memory=*/6, /*layers=*/2, positions));
    const Tensor whole = text_states(*model, texts);
    const std::vector<Tensor> beginning = model->beginning(2);
    ASSERT_EQ(beginning.size(), 3);
    EXPECT_EQ(beginning[0].sizes(), at::IntArrayRef({2, 6, 12}));
    EXPECT_EQ(beginning[2].sizes(), at::IntArrayRef({2}));
    Carried carried;
    for (std::int64_t t = 0; t < 7; ++t) {
      const auto i_t = static_cast<std::size_t>(t);
      const Tensor token = text_states(*model, {{texts[0][i_t]}, {texts[1][i_t]}}, &carried);
      expect_alike(token, whole.index_select(0, tokens({t, 7 + t})));
      ASSERT_EQ(carried.parts.size(), beginning.size());
      for (std::size_t i = 0; i < beginning.size(); ++i) {
        EXPECT_EQ(carried.parts[i].sizes(), beginning[i].sizes());
        EXPECT_EQ(carried.parts[i].scalar_type(), beginning[i].scalar_type());
      }
      EXPECT_TRUE(at::equal(carried.parts[2].cpu(), at::full({2}, std::min<double>(6, static_cast<double>(t) + 1))));
    }
  }
}

// An observer takes the plain formulation.
TEST(LanguageMemory, IsSeenByAnObserver) {
  const at::NoGradGuard no_grad;
  const auto [before, after] = cut_in_two(random_sentences(kTextLengths, 1));
  const LanguageModel model = with_random_weights(with_memory(7, 2, PositionKind::t5));
  Carried carried, observed;
  text_states(*model, before, &carried);
  observed = carried;
  AttentionRecorder recorder;
  Pass pass = Pass::inference(&recorder);
  expect_alike(model->forward(sequences_of(after), pass, &observed), text_states(*model, after, &carried));
  EXPECT_EQ(recorder.layers.size(), 2);
}

// No gradient reaches what is remembered, but those of the maps that read it do.
TEST(LanguageMemory, GradientsEndAtTheMemory) {
  const auto [before, after] = cut_in_two(random_sentences(kTextLengths, 1));
  const LanguageModel model = with_random_weights(with_memory(7, 2, PositionKind::relative));
  Carried carried, copied;
  text_states(*model, before, &carried);
  for (const Tensor& part : carried.parts) {
    EXPECT_FALSE(part.requires_grad());
    copied.parts.push_back(part.clone());
  }
  const auto gradients = [&](Carried* start) {
    for (const Tensor& parameter : model->parameters()) parameter.mutable_grad() = Tensor();
    const Tensor hidden = text_states(*model, after, start);
    (hidden * at::arange(hidden.numel(), hidden.options()).view_as(hidden).cos()).sum().backward();
    std::vector<Tensor> all;
    for (const Tensor& parameter : model->parameters()) all.push_back(parameter.grad().clone());
    return all;
  };
  const auto with = gradients(&carried), of_copies = gradients(&copied), without = gradients(nullptr);
  double difference = 0;
  for (std::size_t i = 0; i < with.size(); ++i) {
    expect_alike(with[i], of_copies[i]);
    difference = std::max(difference, largest_of(with[i] - without[i]) / largest_of(without[i]));
  }
  EXPECT_GT(difference, 1e-3);
}

class RecurrentLanguageModels : public testing::TestWithParam<std::tuple<LanguageCell, std::int64_t>> {
 protected:
  static LanguageOptions options() {
    LanguageOptions options;
    options.cell = std::get<0>(GetParam());
    options.stack.layers = std::get<1>(GetParam());
    options.stack.width = 13;
    options.stack.dropout = 0;
    return options;
  }

  LanguageModel model_ = with_random_weights(options());
};

TEST_P(RecurrentLanguageModels, HoldWhatEveryModelHolds) {
  expect_all_of(*model_);
  EXPECT_EQ(model_->longest(), std::nullopt);
}

TEST_P(RecurrentLanguageModels, CarryOnWhereASegmentEnds) {
  const at::NoGradGuard no_grad;
  expect_segments_are_one_text(*model_);
  const ops::PlainOps plain;
  expect_segments_are_one_text(*model_);
}

// Parameters get gradients of the second segment through the numbers of the first, not through its computation.
TEST_P(RecurrentLanguageModels, GradientsEndWhereASegmentBegins) {
  const auto [before, after] = cut_in_two(random_sentences(kTextLengths, 1));
  Carried carried;
  text_states(*model_, before, &carried);
  Carried copied;
  for (const Tensor& part : carried.parts) copied.parts.push_back(part.clone().detach());
  const auto gradients = [&](Carried& start) {
    for (const Tensor& parameter : model_->parameters()) parameter.mutable_grad() = Tensor();
    text_states(*model_, after, &start).sum().backward();
    std::vector<Tensor> all;
    for (const Tensor& parameter : model_->parameters()) all.push_back(parameter.grad().clone());
    return all;
  };
  const auto through = gradients(carried), from_copies = gradients(copied);
  for (std::size_t i = 0; i < through.size(); ++i) expect_alike(through[i], from_copies[i]);
}

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentLanguageModels,
                         testing::Combine(testing::Values(LanguageCell::lstm, LanguageCell::gru, LanguageCell::tanh),
                                          testing::Values(1, 2, 3)),
                         [](const auto& instance) {
                           return std::string(name_of(std::get<0>(instance.param))) + "_" +
                                  std::to_string(std::get<1>(instance.param));
                         });

}  // namespace
}  // namespace attend
