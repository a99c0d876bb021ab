// The ops against their equations, and every fast path against its plain formulation: values and gradients, at odd
// sizes, in fp32 and bf16.
#include "models/ops/ops.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/ops/dispatch.hpp"
#include "tests/support/fast_and_plain.hpp"
#include "tests/support/heads.hpp"
#include "tests/support/layout.hpp"

namespace attend::ops {
namespace {

using torch::Tensor;

// Odd and unequal: an empty sentence, one token, more than a vector, more than a block of products.
const Layout kQueries = layout_of({7, 1, 0, 13, 37, 2});
const Layout kKeys = layout_of({5, 3, 2, 17, 33, 0});

class EveryType : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(3); }
  at::ScalarType type() const { return GetParam(); }
  Precision precision() const { return type() == at::kFloat ? Precision::fp32 : Precision::bf16; }
  Tensor randn(at::IntArrayRef sizes) const { return at::randn(sizes).to(type()); }
  Weight weight(const Tensor& master) const {
    Weight result(master);
    result.set_precision(precision());
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(Ops, EveryType, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return type.param == at::kFloat ? "fp32" : "bf16"; });

TEST_P(EveryType, Linear) {
  for (const auto activation : {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                Activation::tanh, Activation::swish}) {
    const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      return {linear(in[0], weight(in[1]), in[2], activation)};
    };
    const std::string what = "activation " + std::to_string(static_cast<int>(activation));
    if (activation == Activation::relu && type() == at::kBFloat16) {
      // Values that round to either side of 0 may differ in what relu lets through: compare the values alone.
      const std::vector<Tensor> in = {randn({13, 7}), at::randn({37, 7}), at::randn({37})};
      const Tensor fast = op(in)[0];
      const PlainOps scope;
      expect_close(fast, op(in)[0], type(), what);
      continue;
    }
    expect_fast_equals_plain(op, {randn({13, 7}), at::randn({37, 7}), at::randn({37})}, type(), what);
  }
  const Op without_bias = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return {linear(in[0], weight(in[1]), {})};
  };
  expect_fast_equals_plain(without_bias, {randn({3, 5, 16}), at::randn({9, 16})}, type(), "three dimensions, no bias");
  expect_fast_equals_plain(without_bias, {randn({0, 16}), at::randn({9, 16})}, type(), "no rows");
  // Enough rows for several threads to share.
  const Op with_bias = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return {linear(in[0], weight(in[1]), in[2], Activation::gelu)};
  };
  expect_fast_equals_plain(with_bias, {randn({701, 37}), at::randn({130, 37}), at::randn({130})}, type(), "many rows");
}

TEST_P(EveryType, FeedForwardIsTwoLinears) {
  const auto two_linears = [](const Tensor& x, Affine first, Activation activation, Affine second) {
    return linear(linear(x, first.weight, first.bias, activation), second.weight, second.bias);
  };
  for (const auto activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::swish}) {
    const auto run = [&](const auto& feed_forward, const std::vector<Tensor>& in) {
      return feed_forward(in[0], Affine{weight(in[1]), in[2]}, activation, Affine{weight(in[3]), in[4]});
    };
    std::vector<Tensor> in = {randn({71, 37}), at::randn({130, 37}), at::randn({130}), at::randn({37, 130}),
                              at::randn({37})};
    for (Tensor& tensor : in) tensor.requires_grad_();
    const Tensor ours = run(feed_forward, in), expected = run(two_linears, in);
    const Tensor seed = randn({71, 37});
    const auto gradients = torch::autograd::grad({ours}, in, {seed});
    const auto expected_gradients = torch::autograd::grad({expected}, in, {seed});
    EXPECT_TRUE(at::equal(ours, expected));
    for (std::size_t i = 0; i < in.size(); ++i) EXPECT_TRUE(at::equal(gradients[i], expected_gradients[i])) << i;
  }
}

TEST_P(EveryType, Gated) {
  using Sizes = std::vector<std::vector<std::int64_t>>;
  for (const auto activation :
       {Activation::none, Activation::gelu, Activation::gelu_tanh, Activation::tanh, Activation::swish}) {
    const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {gated(in[0], activation)}; };
    const std::string what = "activation " + std::to_string(static_cast<int>(activation));
    for (const std::vector<std::int64_t>& sizes : Sizes{{13, 14}, {701, 74}, {1, 64}, {0, 8}}) {
      expect_fast_equals_plain(op, {randn(sizes)}, type(), what);
    }
  }
  const Op relu = [](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {gated(in[0], Activation::relu)}; };
  expect_fast_equals_plain(relu, {randn({13, 74})}, type(), "relu");
  const Op of_columns = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return {gated(in[0].t(), Activation::swish)};
  };
  expect_fast_equals_plain(of_columns, {randn({14, 5})}, type(), "not contiguous");
}

TEST(AdditiveEnergies, OfHeadsAndOfRows) {
  at::manual_seed(3);
  const Op op = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return {additive_energies(in[0], in[1], in[2])};
  };
  const auto check = [&](const std::vector<std::int64_t>& queries, const std::vector<std::int64_t>& keys,
                         std::int64_t heads, const std::string& what) {
    expect_fast_equals_plain(op, {at::randn(queries), at::randn(keys), at::randn({heads, keys.back()})}, at::kFloat,
                             what);
  };
  check({5, 3, 7, 21}, {5, 3, 11, 21}, 3, "heads");
  check({37, 4, 9, 64}, {37, 4, 13, 64}, 4, "many heads");
  check({13, 1, 37}, {13, 6, 37}, 1, "rows of a decoder");
  check({2, 5}, {3, 5}, 1, "no leading axes");
  check({2, 1, 3, 5}, {2, 1, 0, 5}, 1, "no keys");
  const Op of_columns = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return {additive_energies(in[0].transpose(0, 1), in[1].transpose(1, 2), in[2])};
  };
  expect_fast_equals_plain(of_columns, {at::randn({7, 2, 5}), at::randn({2, 5, 9}), at::randn({1, 5})}, at::kFloat,
                           "not contiguous");
}

// swish(2) = 2 / (1 + e^-2), and its slope is σ(2) (1 + 2 (1 - σ(2))).
TEST(Gate, IsTheActivatedHalfTimesTheOther) {
  const Tensor x = at::tensor({2.0f, -1.0f, 3.0f, 0.5f}).view({1, 4}).requires_grad_();
  const Tensor y = gated(x, Activation::swish);
  const double of_2 = 1 / (1 + std::exp(-2.0)), of_minus_1 = 1 / (1 + std::exp(1.0));
  EXPECT_NEAR(y[0][0].item<double>(), 3 * 2 * of_2, 1e-5);
  EXPECT_NEAR(y[0][1].item<double>(), 0.5 * -1 * of_minus_1, 1e-6);
  y.sum().backward();
  EXPECT_NEAR(x.grad()[0][0].item<double>(), 3 * of_2 * (1 + 2 * (1 - of_2)), 1e-5);
  EXPECT_NEAR(x.grad()[0][1].item<double>(), 0.5 * of_minus_1 * (1 - (1 - of_minus_1)), 1e-6);
  EXPECT_NEAR(x.grad()[0][2].item<double>(), 2 * of_2, 1e-5);
  EXPECT_NEAR(x.grad()[0][3].item<double>(), -of_minus_1, 1e-6);
}

TEST_P(EveryType, ReluGradientIsThatOfItsOutput) {
  const Tensor x = randn({13, 7}).requires_grad_(), w = at::randn({37, 7}), seed = randn({13, 37});
  const Tensor y = linear(x, weight(w), {}, Activation::relu);
  y.backward(seed);
  const Tensor through = seed.to(at::kFloat) * y.detach().gt(0).to(at::kFloat);
  expect_close(x.grad(), through.mm(w.to(type()).to(at::kFloat)).to(type()), type(), "dx");
}

TEST_P(EveryType, Frozen) {
  const at::NoGradGuard no_grad;
  for (const std::int64_t inputs : {7, 701}) {
    const Tensor w = at::randn({37, inputs}), b = at::randn({37});
    Weight frozen(w);
    frozen.freeze(precision());
    for (const std::int64_t rows : {1, 13, 701}) {  // 701 of 701 are more than a block at any level
      const Tensor x = randn({rows, inputs});
      const Tensor packed = linear(x, frozen, b, Activation::relu);
      const PlainOps scope;
      expect_close(packed, linear(x, frozen, b, Activation::relu), type(), "frozen");
    }
  }
}

// Layer norm with a beta, RMS norm without.
class EveryNorm : public EveryType {
 protected:
  static Tensor beta_of(const std::vector<Tensor>& in, std::size_t i) { return i < in.size() ? in[i] : Tensor(); }
};
INSTANTIATE_TEST_SUITE_P(Ops, EveryNorm, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return type.param == at::kFloat ? "fp32" : "bf16"; });

TEST_P(EveryNorm, OfRowsAndOfSums) {
  for (const std::int64_t width : {7, 37, 256}) {
    for (const bool centred : {true, false}) {
      const auto inputs = [&](std::vector<Tensor> in) {
        if (centred) in.push_back(at::randn({width}));
        return in;
      };
      const std::string what = centred ? "layer norm" : "RMS norm";
      const Op norm = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        return {layer_norm(in[0], in[1], beta_of(in, 2), 1e-5)};
      };
      // Rows off centre, where the two differ.
      expect_fast_equals_plain(norm, inputs({randn({131, width}) + 1, at::randn({width})}), type(), what);
      for (const double rate : {0.0, 0.3}) {
        const Op add_norm = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
          const AddNorm result = add_layer_norm(in[0], in[1], in[2], beta_of(in, 3), 1e-5, {.rate = rate, .key = 7});
          return {result.sum, result.norm};
        };
        expect_fast_equals_plain(add_norm, inputs({randn({131, width}), randn({131, width}) + 1, at::randn({width})}),
                                 type(), "sum, " + what);
      }
    }
  }
}

TEST_P(EveryNorm, OfWhichOnlyOneResultIsUsed) {
  for (const bool centred : {true, false}) {
    std::vector<Tensor> inputs = {randn({13, 37}), randn({13, 37}), at::randn({37})};
    if (centred) inputs.push_back(at::randn({37}));
    for (const bool use_sum : {false, true}) {
      const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        const AddNorm result = add_layer_norm(in[0], in[1], in[2], beta_of(in, 3), 1e-5, {.rate = 0.1, .key = 7});
        // A zero gradient for the norm's parameters where the plain formulation, which never used them, gives none.
        return {use_sum ? result.sum + 0 * result.norm : result.norm};
      };
      expect_fast_equals_plain(op, inputs, type(), use_sum ? "sum" : "norm");
    }
  }
}

TEST_P(EveryNorm, IsMadeAgainByProductsThatReadIt) {
  for (const bool centred : {true, false}) {
    const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      const Tensor beta = centred ? in[3] : Tensor();
      const Tensor post = add_layer_norm(in[0], in[1], in[2], beta, 1e-5, {.rate = 0.1, .key = 7}).norm;
      const Tensor pre = layer_norm(in[0], in[2], beta, 1e-5);
      return {linear(post, weight(in[4]), in[5]),
              feed_forward(pre, {weight(in[4]), in[5]}, Activation::gelu, {weight(in[6]), in[3]})};
    };
    const std::vector<Tensor> in = {randn({13, 37}),      randn({13, 37}),  at::randn({37}),     at::randn({37}),
                                    at::randn({130, 37}), at::randn({130}), at::randn({37, 130})};
    expect_fast_equals_plain(op, in, type(), "products of norms");

    Tensor norm = layer_norm(in[0].clone().requires_grad_(), in[2], centred ? in[3] : Tensor(), 1e-5);
    const Tensor y = linear(norm, weight(in[4]), in[5]);
    const auto storage = norm.storage().getWeakStorageImpl();
    EXPECT_FALSE(storage.expired());
    norm.reset();
    EXPECT_TRUE(storage.expired());
  }
}

TEST_P(EveryType, Embed) {
  const Layout layout = layout_of({7, 1, 0, 13});
  const Tensor ids = at::randint(0, 11, {21}, at::kLong);
  for (const bool with_positions : {false, true}) {
    const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      return {embed({ids, with_positions ? layout : Layout()}, weight(in[0]), 6.1, with_positions ? in[1] : Tensor(),
                    {.rate = 0.2, .key = 9})};
    };
    expect_fast_equals_plain(op, {at::randn({11, 37}), at::randn({14, 37})}, type(), "embed");
  }
}

// On a GPU they would be read as if they were in the processor's memory.
TEST(Embed, RefusesTokensOnAnotherDevice) {
  const Sequences tokens{.ids_M = at::empty({3}, at::TensorOptions(at::kLong).device(at::kMeta)),
                         .layout = layout_of({3})};
  const Weight table(at::ones({5, 4}));
  EXPECT_THROW(embed(tokens, table, 1, {}, {}), std::logic_error);
  EXPECT_THROW(cross_entropy(at::ones({3, 4}), table, {}, tokens.ids_M, 0), std::logic_error);
}

TEST_P(EveryType, Attention) {
  const std::int64_t heads = 3;
  for (const std::int64_t size : {5, 16, 64}) {
    const std::int64_t width = heads * size;
    for (const double rate : {0.0, 0.3}) {
      const Dropout drop{.rate = rate, .key = 21};
      const Op cross = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        return {attend_heads({in[0], in[1], in[2]}, kQueries, kKeys, {.heads = heads, .dropout = drop})};
      };
      expect_fast_equals_plain(cross, {randn({60, width}), randn({60, width}), randn({60, width})}, type(), "cross");
      const Op fused_cross = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        return {attend_heads({in[0], in[1]}, kQueries, kKeys, {.heads = heads, .dropout = drop})};
      };
      expect_fast_equals_plain(fused_cross, {randn({60, width}), randn({60, 2 * width})}, type(), "fused cross");
      for (const bool causal : {false, true}) {
        const Op self = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
          return {attend_heads({in[0]}, kQueries, kQueries, {.heads = heads, .causal = causal, .dropout = drop})};
        };
        expect_fast_equals_plain(self, {randn({60, 3 * width})}, type(), causal ? "causal" : "self");
      }
    }
  }
}

TEST_P(EveryType, CausalAttentionSeesNothingAhead) {
  const Layout layout = layout_of({37});
  const Tensor qkv = randn({37, 3 * 32}).requires_grad_();
  const Tensor context = attend_heads({qkv}, layout, layout, {.heads = 2, .causal = true});
  context.narrow(0, 0, 20).sum().backward();
  // Rows that positions 0 … 19 cannot see have no gradient at all, and changing them changes no bit.
  EXPECT_EQ(qkv.grad().slice(0, 20).count_nonzero().item<std::int64_t>(), 0);
  const Tensor other = at::cat({qkv.detach().slice(0, 0, 20), randn({17, 96}) * 100});
  const Tensor changed = attend_heads({other}, layout, layout, {.heads = 2, .causal = true});
  EXPECT_TRUE(at::equal(changed.slice(0, 0, 20), context.detach().slice(0, 0, 20)));
}

TEST_P(EveryType, ASentenceDoesNotDependOnItsBatch) {
  const Layout all = layout_of({7, 13, 37}), one = layout_of({13});
  const Tensor qkv = randn({57, 3 * 32});
  const Tensor together = attend_heads({qkv}, all, all, {.heads = 2}).slice(0, 7, 20);
  const Tensor alone = attend_heads({qkv.slice(0, 7, 20)}, one, one, {.heads = 2});
  EXPECT_TRUE(at::equal(together, alone));
}

TEST_P(EveryType, CrossEntropy) {
  const Tensor labels = at::randint(0, 37, {131}, at::kLong);
  for (const double smoothing : {0.0, 0.1}) {
    for (const bool with_bias : {false, true}) {
      const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        const CrossEntropy result =
            cross_entropy(in[0], weight(in[1]), with_bias ? in[2] : Tensor(), labels, smoothing);
        return {result.loss, result.nll(), result.num_correct};
      };
      expect_fast_equals_plain(op, {randn({131, 7}), at::randn({37, 7}), at::randn({37})}, type(), "loss");
    }
  }
}

// Factors of 8 bits, sums of 24: what a softmax over a vocabulary reads is not rounded to the type of its factors,
// whose neighbours are 0.03 to 0.13 apart here.
TEST(Logits, AreNotRoundedToTheTypeOfTheirFactors) {
  for (const std::int64_t width : {7, 64}) {  // an odd number of inputs has half a pair
    const Tensor x = at::randn({13, width}) * 3, table = at::randn({71, width}), bias = at::randn({71});
    const Tensor labels = at::randint(0, 71, {13}, at::kLong);
    const auto exact = [](const Tensor& factor) { return factor.to(at::kBFloat16).to(at::kDouble); };
    const Tensor expected = at::linear(exact(x), exact(table), bias.to(at::kDouble));
    const double nll = -at::log_softmax(expected, 1).gather(1, labels.unsqueeze(1)).sum().item<double>();
    Weight weight(table);
    weight.set_precision(Precision::bf16);
    const auto check = [&] {
      const Tensor found = logits(x.to(at::kBFloat16), weight, bias);
      EXPECT_EQ(found.scalar_type(), at::kFloat);
      EXPECT_LE((found.to(at::kDouble) - expected).abs().max().item<double>(), 2e-5);
      EXPECT_NEAR(cross_entropy(x.to(at::kBFloat16), weight, bias, labels, 0).nll().item<double>(), nll, 2e-5 * nll);
    };
    check();
    const PlainOps plain;
    check();
  }
}

TEST(Logits, FollowTheWeightAfterARefresh) {
  const at::NoGradGuard no_grad;
  const Tensor x = at::ones({1, 4}).to(at::kBFloat16), table = at::ones({5, 4});
  Weight weight(table);
  weight.set_precision(Precision::bf16);
  EXPECT_EQ(logits(x, weight, {})[0][4].item<float>(), 4);
  table.fill_(2);
  weight.refresh();
  EXPECT_EQ(logits(x, weight, {})[0][4].item<float>(), 8);
}

// The gradients of a sum that is divided by the number of tokens are so divided in fp32.
TEST(CrossEntropy, IsScaledByTheExactFactor) {
  at::manual_seed(5);
  const Tensor hidden = at::randn({512, 64}), table = at::randn({37, 64});
  const Tensor labels = at::randint(0, 37, {512}, at::kLong);
  const auto gradient = [&](double factor) {
    Weight weight(table.clone().requires_grad_());
    weight.set_precision(Precision::bf16);
    const Tensor x = hidden.to(at::kBFloat16).requires_grad_();
    (cross_entropy(x, weight, {}, labels, 0).loss * factor).backward();
    return x.grad().to(at::kDouble);
  };
  // bf16's next numbers are 1 and 1 + 1 / 128, so a rounded factor would be off by 3e-3; the products are rounded to
  // bf16 once more, which leaves less than a third of that.
  const double factor = 1 + 1.0 / 300;
  EXPECT_NEAR(gradient(factor).abs().sum().item<double>() / gradient(1).abs().sum().item<double>(), factor, 1e-3);
}

TEST(CrossEntropy, BlocksAddUp) {
  // 1,000 rows of 17,000 fp32 logits are three blocks. Small logits: with large ones the plain formulation is itself
  // 2e-5 from the truth.
  const Tensor hidden = 0.1 * at::randn({1000, 8}), table = at::randn({17000, 8}), bias = 0.1 * at::randn({17000});
  const Tensor labels = at::randint(0, 17000, {1000}, at::kLong);
  const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return {cross_entropy(in[0], Weight(in[1]), in[2], labels, 0.1).loss};
  };
  expect_fast_equals_plain(op, {hidden, table, bias}, at::kFloat, "blocks");
  // The gradient of 300 rows of 4,096 fp32 numbers is made in three parts.
  const Tensor few = 0.01 * at::randn({13, 4096}), wide = at::randn({300, 4096}), row = at::zeros({300});
  const Tensor of_few = at::randint(0, 300, {13}, at::kLong);
  const Op parts = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return {cross_entropy(in[0], Weight(in[1]), in[2], of_few, 0.1).loss};
  };
  expect_fast_equals_plain(parts, {few, wide, row}, at::kFloat, "parts");
}

TEST(CrossEntropy, RefusesASecondBackward) {
  // Its gradients were scaled in their place.
  const Tensor hidden = at::randn({13, 7}).requires_grad_();
  const Tensor loss = cross_entropy(hidden, Weight(at::randn({37, 7})), {}, at::zeros({13}, at::kLong), 0).loss;
  loss.backward({}, /*retain_graph=*/true);
  EXPECT_THROW(loss.backward(), c10::Error);
}

TEST(FeedForward, RefusesASecondBackward) {
  // What is between its layers took the place of what it is made of.
  const Tensor x = at::randn({13, 7}).requires_grad_(), first = at::randn({37, 7}).requires_grad_();
  const Tensor second = at::randn({7, 37}).requires_grad_(), bias = at::zeros({37}), none = at::zeros({7});
  const Tensor sum = feed_forward(x, {Weight(first), bias}, Activation::gelu, {Weight(second), none}).sum();
  sum.backward({}, /*retain_graph=*/true);
  EXPECT_THROW(sum.backward(), c10::Error);
}

TEST(CrossEntropy, ABrokenLogitBreaksTheLoss) {
  Tensor hidden = at::randn({13, 7});
  hidden[5][3] = std::nan("");
  const Tensor labels = at::zeros({13}, at::kLong);
  EXPECT_TRUE(std::isnan(cross_entropy(hidden, Weight(at::randn({37, 7})), {}, labels, 0.1).loss.item<double>()));
}

TEST(Attention, WorkedExample) {
  // Scores q·k of [112 96; 88 120] with key size 64 are [14 12; 11 15] after scaling: the exercise every course sets.
  const Tensor k = at::zeros({2, 64}), q = at::zeros({2, 64});
  k[0][0] = 1;
  k[1][1] = 1;
  q[0][0] = 112, q[0][1] = 96, q[1][0] = 88, q[1][1] = 120;
  const Layout layout = layout_of({2});
  const Tensor expected = at::tensor({0.88, 0.12, 0.02, 0.98}, at::kFloat).view({2, 2});
  EXPECT_LE((weights_of_heads(q, k, layout, layout, {})[0][0] - expected).abs().max().item<double>(), 0.005);
  // Values that are unit vectors read the weights out.
  const Tensor v = at::eye(2, 64);
  const Tensor context = attend_heads({q, k, v}, layout, layout, {});
  EXPECT_LE((context.slice(1, 0, 2) - expected).abs().max().item<double>(), 0.005);
}

TEST(Attention, WeightsSumToOneOverTheSentence) {
  const Tensor q = at::randn({60, 12}), k = at::randn({60, 12});
  const Tensor weights = weights_of_heads(q, k, kQueries, kKeys, {.heads = 3});
  for (std::int64_t b = 0; b < kQueries.size(); ++b) {
    const Tensor rows = weights[b].slice(1, 0, kQueries.length(b));
    const double expected = kKeys.length(b) > 0 ? 1 : 0;
    EXPECT_TRUE(at::allclose(rows.sum(-1), at::full({3, kQueries.length(b)}, expected), 1e-6, 1e-6));
    EXPECT_EQ(rows.slice(2, kKeys.length(b)).count_nonzero().item<std::int64_t>(), 0);
  }
}

TEST(Attention, EmptySentencesAndKeys) {
  const Layout queries = layout_of({2, 0, 3}), keys = layout_of({4, 1, 0});
  const Tensor q = at::randn({5, 6}), k = at::randn({5, 6}), v = at::randn({5, 6});
  const Tensor context = attend_heads({q, k, v}, queries, keys, {.heads = 3});
  EXPECT_TRUE(context.isfinite().all().item<bool>());
  EXPECT_EQ(context.slice(0, 2).count_nonzero().item<std::int64_t>(), 0);
}

TEST(OrthogonalFactors, WorkedExample) {
  const PlainOps plain;
  const Tensor factors = orthogonal_factors(at::diag(at::tensor({3.0F, 1.0F})).unsqueeze(0));
  EXPECT_TRUE(at::allclose(factors[0], at::tensor({0.753F, 0.F, 0.F, 1.134F}).view({2, 2}), 0, 1e-3)) << factors;
  EXPECT_TRUE(at::equal(orthogonal_factors(at::zeros({1, 3, 8})), at::zeros({1, 3, 8})));
}

// The singular vectors stay. bf16 rounds to 2^-9 in each of five iterations, which multiply small values.
TEST(OrthogonalFactors, MapSingularValues) {
  at::manual_seed(3);
  const std::vector<std::pair<int, int>> shapes = {{13, 7}, {7, 13}, {12, 48}, {50, 17}, {11, 11}, {6, 100}};
  for (const auto& [rows, columns] : shapes) {
    const Tensor x = at::randn({3, rows, columns}) / at::arange(1, rows + 1).unsqueeze(1);
    const auto [u, s, v] = at::linalg_svd(x.to(at::kDouble), /*full_matrices=*/false);
    Tensor mapped = s / at::linalg_vector_norm(s, 2, {1}, /*keepdim=*/true);
    for (int i = 0; i < NewtonSchulz::iterations; ++i) {
      mapped = NewtonSchulz::a * mapped + NewtonSchulz::b * mapped.pow(3) + NewtonSchulz::c * mapped.pow(5);
    }
    const Tensor expected = at::matmul(u * mapped.unsqueeze(1), v);
    const auto error = [&] {
      return ((orthogonal_factors(x).to(at::kDouble) - expected).norm() / expected.norm()).item<double>();
    };
    EXPECT_LE(error(), has_native_bf16() ? 0.1 : 1e-4) << rows << " x " << columns;
    const PlainOps plain;
    EXPECT_LE(error(), 1e-4) << rows << " x " << columns;
  }
}

TEST(Pad, ThereAndBack) {
  const Layout layout = layout_of({3, 0, 5, 1});
  const Tensor x = at::randn({9, 7});
  const Tensor padded = pad(x, layout);
  EXPECT_EQ(padded.sizes(), at::IntArrayRef({4, 5, 7}));
  EXPECT_TRUE(at::equal(unpad(padded, layout), x));
  EXPECT_EQ(padded[0].slice(0, 3).count_nonzero().item<std::int64_t>(), 0);
}

TEST(Layout, MakesItsTensorsOnceForAllCopies) {
  const Layout layout = layout_of({3, 0, 5, 1}), copy = layout;
  const auto numbers = [](std::vector<std::int64_t> values) { return at::tensor(values, at::kLong); };
  at::Tensor rows;
  {
    const c10::InferenceMode search;  // as REINFORCE does before it trains on the same batch
    rows = layout.on(at::kCPU).rows_M;
  }
  const LayoutTensors& tensors = copy.on(at::kCPU);
  EXPECT_TRUE(at::equal(tensors.offsets_B1, numbers({0, 3, 3, 8, 9})));
  EXPECT_TRUE(at::equal(tensors.lengths_B, numbers({3, 0, 5, 1})));
  EXPECT_TRUE(at::equal(tensors.sentences_M, numbers({0, 0, 0, 2, 2, 2, 2, 2, 3})));
  EXPECT_TRUE(at::equal(tensors.places_M, numbers({0, 1, 2, 0, 1, 2, 3, 4, 0})));
  EXPECT_TRUE(at::equal(rows, numbers({0, 1, 2, 10, 11, 12, 13, 14, 15})));
  EXPECT_TRUE(at::equal(tensors.padding_BT.sum(1), numbers({2, 5, 0, 4})));

  const Tensor x = at::randn({9, 7}).set_requires_grad(true);
  unpad(pad(x, layout), copy).sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), at::ones_like(x)));
  EXPECT_TRUE(rows.is_same(copy.on(at::kCPU).rows_M));
}

TEST(Layout, GrowsApartFromItsCopies) {
  Layout layout = layout_of({2, 1});
  const Layout copy = layout;
  EXPECT_EQ(copy.on(at::kCPU).rows_M.size(0), 3);
  layout.append(4);
  EXPECT_TRUE(at::equal(layout.on(at::kCPU).lengths_B, at::tensor({2, 1, 4}, at::kLong)));
  EXPECT_TRUE(at::equal(copy.on(at::kCPU).lengths_B, at::tensor({2, 1}, at::kLong)));
}

TEST(Layout, OfNoTokens) {
  const Layout empty = layout_of({0, 0}), none;
  EXPECT_EQ(pad(at::ones({0, 3}), empty).sizes(), at::IntArrayRef({2, 0, 3}));
  EXPECT_EQ(unpad(pad(at::ones({0, 3}), none), none).sizes(), at::IntArrayRef({0, 3}));
}

TEST(Dropout, KeepsTheShareItSays) {
  const Tensor x = at::ones({1000, 37});
  const Tensor y = dropout(x, {.rate = 0.3, .key = 5});
  // 37,000 draws: the share dropped has a standard deviation of 0.0024.
  EXPECT_NEAR(y.eq(0).to(at::kDouble).mean().item<double>(), 0.3, 0.01);
  EXPECT_NEAR(y.max().item<double>(), 1 / 0.7, 1e-6);
  EXPECT_TRUE(at::equal(y, dropout(x, {.rate = 0.3, .key = 5})));
  const Tensor other = dropout(x, {.rate = 0.3, .key = 6});
  // Masks of two keys, and of neighbours in one, are independent: both dropped in 9 % of places.
  EXPECT_NEAR(y.eq(0).logical_and(other.eq(0)).to(at::kDouble).mean().item<double>(), 0.09, 0.006);
  const Tensor flat = y.flatten();
  EXPECT_NEAR(flat.slice(0, 1).eq(0).logical_and(flat.slice(0, 0, -1).eq(0)).to(at::kDouble).mean().item<double>(),
              0.09, 0.006);
  const PlainOps scope;
  EXPECT_TRUE(at::equal(y, dropout(x, {.rate = 0.3, .key = 5})));
}

TEST_P(EveryType, Dropout) {
  const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return {dropout(in[0], {.rate = 0.4, .key = 1234567890123456789})};
  };
  expect_fast_equals_plain(op, {randn({13, 7, 37})}, type(), "dropout");
}

}  // namespace
}  // namespace attend::ops
