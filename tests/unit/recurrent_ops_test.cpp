// The recurrent ops: fast paths beside plain formulations, values and gradients, at odd and unequal sizes.
#include "models/ops/recurrent.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "models/ops/dispatch.hpp"
#include "tests/support/layout.hpp"

namespace attend::ops {
namespace {

using torch::Tensor;

// 13 sentences a side, none of one length with its partner; one source is empty.
const Layout kSource = layout_of({3, 7, 1, 0, 5, 2, 7, 4, 6, 1, 3, 5, 2});
const Layout kTarget = layout_of({5, 2, 6, 1, 7, 7, 3, 1, 2, 4, 6, 1, 5});

Tensor random(at::IntArrayRef sizes, double scale = 0.25) { return (at::randn(sizes) * scale).requires_grad_(); }

std::int64_t num_gates(CellKind kind) { return kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1; }

CellWeights random_cell(CellKind kind, std::int64_t input, std::int64_t hidden) {
  const std::int64_t rows = num_gates(kind) * hidden;
  return {.kind = kind,
          .weight_ih = Weight(random({rows, input})),
          .weight_hh = Weight(random({rows, hidden})),
          .bias_ih = random({rows}),
          .bias_hh = random({rows})};
}

CellState random_state(CellKind kind, std::int64_t count, std::int64_t width, at::ScalarType type) {
  CellState state{{random({count, width}).to(type)}};
  if (kind == CellKind::lstm) state.parts.push_back(random({count, width}));
  return state;
}

std::vector<Tensor> parameters(const CellWeights& cell) {
  return {cell.weight_ih.master(), cell.weight_hh.master(), cell.bias_ih, cell.bias_hh};
}

void set_precision(CellWeights& cell, at::ScalarType type) {
  const Precision precision = type == at::kBFloat16 ? Precision::bf16 : Precision::fp32;
  cell.weight_ih.set_precision(precision);
  cell.weight_hh.set_precision(precision);
}

// The outputs, and the gradients of a random combination of them with respect to `leaves`.
std::vector<Tensor> values_and_gradients(const std::function<std::vector<Tensor>()>& f,
                                         const std::vector<Tensor>& leaves) {
  at::manual_seed(17);
  std::vector<Tensor> all = f();
  Tensor loss = at::zeros({});
  for (const Tensor& output : all) loss = loss + (output.to(at::kFloat) * at::randn(output.sizes())).sum();
  for (const Tensor& leaf : leaves) leaf.mutable_grad() = Tensor();
  loss.backward();
  for (const Tensor& leaf : leaves) all.push_back(leaf.grad());
  return all;
}

// Each fast tensor is the plain one up to `tolerance` of its norm: sums in another order in fp32, numbers of 8 bits
// rounded at other places, over and over, in bf16.
void expect_same(const std::function<std::vector<Tensor>()>& f, const std::vector<Tensor>& leaves, double tolerance) {
  const auto fast = values_and_gradients(f, leaves);
  const PlainOps plain_ops;
  const auto plain = values_and_gradients(f, leaves);
  ASSERT_EQ(fast.size(), plain.size());
  for (std::size_t i = 0; i < fast.size(); ++i) {
    SCOPED_TRACE("tensor " + std::to_string(i));
    ASSERT_TRUE(fast[i].defined());
    ASSERT_EQ(fast[i].sizes(), plain[i].sizes());
    ASSERT_EQ(fast[i].scalar_type(), plain[i].scalar_type());
    const auto norm = [](const Tensor& x) { return x.to(at::kDouble).norm().item<double>(); };
    EXPECT_GT(norm(plain[i]), 0);
    EXPECT_LE(norm(fast[i] - plain[i]), tolerance * norm(plain[i]));
  }
}

class RecurrentOps : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(5); }
  at::ScalarType type_ = GetParam();
  double tolerance_ = type_ == at::kFloat ? 1e-5 : 0.03;
};

// Every kind of cell, reading, and what a layer may be given and asked for.
TEST_P(RecurrentOps, LayersAreThePlainOnes) {
  for (const auto& [kind, name] : kEnumNames<CellKind>) {
    for (const std::vector<bool>& reverse : {std::vector{false}, {true}, {false, true}}) {
      for (const bool given : {false, true}) {
        SCOPED_TRACE(std::string(name) + ", directions " + std::to_string(reverse.size()) + ", first reversed " +
                     std::to_string(reverse[0]) + ", state given " + std::to_string(given));
        const bool wants_memory = given && kind == CellKind::lstm;
        const auto num_directions = static_cast<std::int64_t>(reverse.size());
        const Tensor x = random({kTarget.num_tokens(), 7});
        std::vector<Tensor> leaves = {x};
        std::vector<Direction> directions;
        for (const bool backwards : reverse) {
          directions.push_back({random_cell(kind, 7, 37), backwards});
          set_precision(directions.back().cell, type_);
          for (const Tensor& parameter : parameters(directions.back().cell)) leaves.push_back(parameter);
        }
        CellState start;
        if (given) {
          start = random_state(kind, kTarget.size(), num_directions * 37, at::kFloat);
          leaves.insert(leaves.end(), start.parts.begin(), start.parts.end());
        }
        expect_same(
            [&] {
              CellState from = start;
              if (given) from.parts[0] = from.parts[0].to(type_);
              const LayerOutput read = recurrent_layer({.x_MI = x.to(type_),
                                                        .layout = kTarget,
                                                        .start = given ? &from : nullptr,
                                                        .wants_memory = wants_memory},
                                                       directions);
              std::vector<Tensor> outputs = {read.output_MC};
              if (wants_memory) outputs.push_back(read.memory_MC);
              outputs.insert(outputs.end(), read.last.parts.begin(), read.last.parts.end());
              return outputs;
            },
            leaves, tolerance_);
      }
    }
  }
}

TEST_P(RecurrentOps, StepsAreThePlainOnes) {
  const at::NoGradGuard no_grad;
  for (const auto& [kind, name] : kEnumNames<CellKind>) {
    SCOPED_TRACE(name);
    CellWeights cell = random_cell(kind, 7, 13);
    set_precision(cell, type_);
    const Tensor x = random({5, 7}).to(type_);
    const CellState before = random_state(kind, 5, 13, type_);
    const CellState fast = cell_step(x, before, cell);
    const PlainOps plain_ops;
    const CellState plain = cell_step(x, before, cell);
    ASSERT_EQ(fast.parts.size(), plain.parts.size());
    for (std::size_t p = 0; p < fast.parts.size(); ++p) {
      EXPECT_LE((fast.parts[p] - plain.parts[p]).abs().max().item<double>(), type_ == at::kFloat ? 1e-6 : 0.01);
    }
  }
}

TEST_P(RecurrentOps, AStepOfDotAttentionIsItsFormula) {
  const at::NoGradGuard no_grad;
  const Tensor query = random({5, 13}).to(type_), keys = random({kSource.num_tokens(), 13}).to(type_),
               values = random({kSource.num_tokens(), 37}).to(type_);
  const std::vector<std::int64_t> sentences = {12, 3, 1, 1, 6};  // the second reads nothing
  const Attended attended = attention_step({}, query, {keys, values, kSource}, {.sentences = sentences, .step = 3});
  for (std::int64_t r = 0; r < 5; ++r) {
    const std::int64_t first = kSource.offsets[sentences[r]], length = kSource.length(sentences[r]);
    const auto of_sentence = [&](const Tensor& x) { return x.narrow(0, first, length).to(at::kFloat); };
    const Tensor weights = at::softmax(at::mv(of_sentence(keys), query[r].to(at::kFloat)), 0);
    const double tolerance = type_ == at::kFloat ? 1e-6 : 0.01;
    EXPECT_TRUE(at::allclose(attended.weights_RS[r].narrow(0, 0, length), weights, 0, tolerance));
    EXPECT_EQ(attended.weights_RS[r].narrow(0, length, 7 - length).abs().sum().item<double>(), 0);
    EXPECT_TRUE(
        at::allclose(attended.context_RW[r].to(at::kFloat), at::mv(of_sentence(values).t(), weights), 0, tolerance));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RecurrentOps, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return std::string(at::toString(type.param)); });

// A state that is far from zero, where functions saturate, and one that is not a number, which must not be hidden.
TEST(RecurrentFunctions, HoldFarFromZero) {
  const at::NoGradGuard no_grad;
  const CellWeights cell{.weight_ih = Weight(at::full({4, 1}, 1.0f)),
                         .weight_hh = Weight(at::zeros({4, 1})),
                         .bias_ih = at::zeros({4}),
                         .bias_hh = at::zeros({4})};
  const Tensor x = at::tensor({-200.0f, -30.0f, -1e-4f, 0.0f, 0.3f, 0.62f, 0.63f, 9.0f, 30.0f, 200.0f}).unsqueeze(1);
  const CellState zero{{at::zeros({10, 1}), at::zeros({10, 1})}};
  const Tensor fast = cell_step(x, zero, cell).parts[1];
  EXPECT_TRUE(at::allclose(fast, at::sigmoid(x) * at::tanh(x), 2e-6, 1e-30)) << fast;
  EXPECT_TRUE(cell_step(at::full({1, 1}, NAN), zero.first(1), cell).hidden().isnan().item<bool>());
}

}  // namespace
}  // namespace attend::ops
