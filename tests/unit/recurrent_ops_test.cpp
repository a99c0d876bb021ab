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

LstmCell random_cell(std::int64_t input, std::int64_t hidden) {
  return {.weight_ih = Weight(random({4 * hidden, input})),
          .weight_hh = Weight(random({4 * hidden, hidden})),
          .bias_ih = random({4 * hidden}),
          .bias_hh = random({4 * hidden})};
}

std::vector<Tensor> parameters(const LstmCell& cell) {
  return {cell.weight_ih.master(), cell.weight_hh.master(), cell.bias_ih, cell.bias_hh};
}

void set_precision(LstmCell& cell, at::ScalarType type) {
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

TEST_P(RecurrentOps, LstmIsThePlainOne) {
  for (const std::size_t directions : {1, 2}) {
    std::vector<LstmCell> cells;
    const Tensor x = random({kTarget.num_tokens(), 7});
    std::vector<Tensor> leaves = {x};
    for (std::size_t d = 0; d < directions; ++d) {
      cells.push_back(random_cell(7, 37));
      set_precision(cells.back(), type_);
      for (const Tensor& parameter : parameters(cells.back())) leaves.push_back(parameter);
    }
    expect_same(
        [&] {
          const auto [output, last] = lstm(x.to(type_), kTarget, cells);
          return std::vector<Tensor>{output, last.hidden, last.cell};
        },
        leaves, tolerance_);
  }
}

TEST_P(RecurrentOps, DecoderIsThePlainOne) {
  constexpr std::int64_t E = 7, H = 37, V = 13;
  for (const std::size_t num_layers : {1, 3}) {
    for (const bool input_feeding : {true, false}) {
      const Tensor embedded = random({kTarget.num_tokens(), E}), keys = random({kSource.num_tokens(), H}),
                   values = random({kSource.num_tokens(), V});
      Weight combine(random({H, V + H}));
      combine.set_precision(type_ == at::kBFloat16 ? Precision::bf16 : Precision::fp32);
      std::vector<Tensor> leaves = {embedded, keys, values, combine.master()};
      std::vector<LstmCell> cells;
      std::vector<Tensor> hidden, cell;
      for (std::size_t l = 0; l < num_layers; ++l) {
        cells.push_back(random_cell(l > 0 ? H : input_feeding ? E + H : E, H));
        set_precision(cells.back(), type_);
        for (const Tensor& parameter : parameters(cells.back())) leaves.push_back(parameter);
        leaves.push_back(hidden.emplace_back(random({kTarget.size(), H})));
        leaves.push_back(cell.emplace_back(random({kTarget.size(), H})));
      }
      AttentionDecoder decoder{.layers = cells,
                               .combine_HC = combine,
                               .input_feeding = input_feeding,
                               .feed_dropout = {.rate = 0.2, .key = 1},
                               .layer_dropouts = std::vector<Dropout>(num_layers - 1, {.rate = 0.3, .key = 2}),
                               .combine_dropout = {.rate = 0.1, .key = 3}};
      expect_same(
          [&] {
            std::vector<LstmState> start;
            for (std::size_t l = 0; l < num_layers; ++l) start.push_back({hidden[l].to(type_), cell[l]});
            return std::vector<Tensor>{attention_decoder(decoder, {.embedded_ME = embedded.to(type_),
                                                                   .layout = kTarget,
                                                                   .keys_SH = keys.to(type_),
                                                                   .values_SV = values.to(type_),
                                                                   .memory = kSource,
                                                                   .start = start})};
          },
          leaves, tolerance_);
    }
  }
}

TEST_P(RecurrentOps, StepsAreThePlainOnes) {
  const at::NoGradGuard no_grad;
  LstmCell cell = random_cell(7, 13);
  set_precision(cell, type_);
  const Tensor x = random({5, 7}).to(type_), hidden = random({5, 13}).to(type_), state = random({5, 13});
  const Tensor keys = random({kSource.num_tokens(), 13}).to(type_),
               values = random({kSource.num_tokens(), 37}).to(type_);
  const std::vector<std::int64_t> sentences = {12, 3, 1, 1, 6};  // the second reads nothing
  const auto run = [&] {
    const LstmState next = lstm_step(x, {hidden, state}, cell);
    const DotAttention attended = dot_attention(next.hidden, keys, values, kSource, sentences);
    return std::vector<Tensor>{next.hidden, next.cell, attended.context_RV, attended.weights_RS};
  };
  const auto fast = run();
  const PlainOps plain_ops;
  const auto plain = run();
  for (std::size_t i = 0; i < fast.size(); ++i) {
    EXPECT_LE((fast[i] - plain[i]).abs().max().item<double>(), type_ == at::kFloat ? 1e-6 : 0.01) << i;
  }
  EXPECT_EQ(fast[2][1].abs().max().item<double>(), 0);
  EXPECT_EQ(fast[3].narrow(1, 2, 5)[0].abs().max().item<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Types, RecurrentOps, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return std::string(at::toString(type.param)); });

// A state that is far from zero, where functions saturate, and one that is not a number, which must not be hidden.
TEST(RecurrentFunctions, HoldFarFromZero) {
  const at::NoGradGuard no_grad;
  const LstmCell cell{.weight_ih = Weight(at::full({4, 1}, 1.0f)),
                      .weight_hh = Weight(at::zeros({4, 1})),
                      .bias_ih = at::zeros({4}),
                      .bias_hh = at::zeros({4})};
  const Tensor x = at::tensor({-200.0f, -30.0f, -1e-4f, 0.0f, 0.3f, 0.62f, 0.63f, 9.0f, 30.0f, 200.0f}).unsqueeze(1);
  const LstmState zero{at::zeros({10, 1}), at::zeros({10, 1})};
  const Tensor fast = lstm_step(x, zero, cell).cell;
  EXPECT_TRUE(at::allclose(fast, at::sigmoid(x) * at::tanh(x), 2e-6, 1e-30)) << fast;
  EXPECT_TRUE(
      lstm_step(at::full({1, 1}, NAN), {at::zeros({1, 1}), at::zeros({1, 1})}, cell).hidden.isnan().item<bool>());
}

}  // namespace
}  // namespace attend::ops
