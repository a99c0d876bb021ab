// What holds of every language model that its options allow: a step is forward, no token is read before its turn, a
// batch is its texts, and what a recurrent model carries over continues a text.
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

#include "models/language/language_options.hpp"
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

Tensor next_logits(const LanguageModelImpl& model, const Tensor& hidden_MH) {
  return ops::logits(hidden_MH, model.output_table(), model.output_bias());
}

// Rows of several texts side by side, which end one after another.
void expect_steps_are_hidden_states(const LanguageModelImpl& model) {
  const Texts texts = random_sentences(kTextLengths, 1);
  const Layout layout = sequences_of(texts).layout;
  const Tensor expected = next_logits(model, text_states(model, texts));
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
  expect_alike(selected, next_logits(model, text_states(model, texts)).index_select(0, tokens({3, 7, 11, 15})));
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
    loss = loss + ops::cross_entropy(hidden, model.output_table(), model.output_bias(), labels_M, 0.1).loss;
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

LanguageModel with_random_weights(const LanguageOptions& options) {
  const LanguageModel model = make_language_model(options, kVocabulary);
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
  if (options.stack.initialiser == Initialiser::of_family) options.stack.initial_deviation = 0.3;
  return options;
}

TEST(LanguageModels, OfEveryCombinationOfBlocksHoldWhatEveryModelHolds) {
  for_each_combination(drawn_language, with_random_weights, [](const LanguageOptions& options, auto& model) {
    expect_all_of(model);
    expect_a_table_limits(options, model);
    const at::NoGradGuard no_grad;
    const auto [before, after] = cut_in_two(random_sentences(kTextLengths, 1));
    Carried carried{.parts = model.beginning(std::ssize(before))};
    EXPECT_TRUE(carried.parts.empty());
    text_states(model, before, &carried);
    expect_alike(text_states(model, after, &carried), text_states(model, after));
  });
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
