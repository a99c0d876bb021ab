// Properties of self-attention and its replacements: selected tokens equal those of the
// whole, linear attention equals that by its weights, and without positions and parameters the
// order of a sentence has no influence; a window hides what is beyond it.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "models/attention/multi_head.hpp"
#include "tests/support/device.hpp"
#include "tests/support/layout.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr std::int64_t kWidth = 12;

MultiHeadAttention attention_with(const BlockOptions& options, AttentionPlace place = AttentionPlace::encoder,
                                  std::int64_t heads = 3) {
  const auto root = std::make_shared<torch::nn::Module>();
  MultiHeadAttention attention(options, AttentionShape{.place = place, .width = kWidth, .heads = heads, .longest = 6});
  root->register_module("attention", attention);
  initialise(*root, 3);
  attention->to(test_device());
  return attention;
}

void expect_near(const Tensor& found, const Tensor& expected, const std::string& name) {
  EXPECT_TRUE(at::allclose(found, expected, 1e-4, 1e-4)) << name << ": " << (found - expected).abs().max();
}

// The kinds that are made of attention, with tables shorter than the longest sentence.
std::vector<SelfAttentionKind> stand_ins() {
  std::vector<SelfAttentionKind> kinds;
  for (const auto& [kind, name] : kEnumNames<SelfAttentionKind>) {
    if (kind != SelfAttentionKind::fourier) kinds.push_back(kind);
  }
  return kinds;
}

TEST(SelfAttention, OfSelectedTokensIsThatOfTheWhole) {
  const at::NoGradGuard no_grad;
  const Layout layout = layout_of({7, 3, 4});
  const Tensor x = at::randn({14, kWidth}).to(test_device());
  const Selection selected = select({0, 5, 6, 8, 12}, layout, test_device());
  for (const SelfAttentionKind kind : stand_ins()) {
    const MultiHeadAttention attention = attention_with({.self_attention = kind});
    Pass pass = Pass::inference();
    expect_near(attention->within(x, layout, &selected, 0, pass),
                selected.of(attention->within(x, layout, nullptr, 0, pass)), std::string(name_of(kind)));
  }
}

// An observer, which makes attention compute its weights.
struct Weights final : Observer {
  void on_attention(AttentionPlace /*place*/, std::int64_t /*layer*/, const Tensor& /*weights_BNTS*/) override {}
};

// The output of one batch and its gradients by the input and every parameter.
template <class F>
std::vector<Tensor> with_gradients(MultiHeadAttention attention, std::vector<Tensor> inputs, Observer* observer,
                                   const F& forward) {
  for (Tensor& input : inputs) input = input.detach().requires_grad_();
  Pass pass = Pass::inference(observer);
  std::vector<Tensor> result{forward(inputs, pass)};
  attention->zero_grad();
  (result[0] * at::arange(result[0].numel(), result[0].options()).view_as(result[0]).cos()).sum().backward();
  for (const Tensor& input : inputs) result.push_back(input.grad().clone());
  for (const Tensor& parameter : attention->parameters()) result.push_back(parameter.grad().clone());
  return result;
}

TEST(SelfAttention, LinearAttentionHasTheOutputsAndGradientsOfItsWeights) {
  const Layout layout = layout_of({7, 1, 9, 5}), memory = layout_of({11, 13, 0, 6});
  const Tensor x = at::randn({22, kWidth}).to(test_device()), y = at::randn({30, kWidth}).to(test_device());
  for (const AttentionPlace place : {AttentionPlace::encoder, AttentionPlace::cross}) {
    const MultiHeadAttention attention = attention_with({.score = ScoreKind::elu1, .attention_dropout = 0.5}, place);
    const auto forward = [&](const std::vector<Tensor>& inputs, Pass& pass) {
      if (place == AttentionPlace::encoder) return attention->within(inputs[0], layout, nullptr, 0, pass);
      return attention->to_memory(inputs[0], layout, {{attention->keys_values(inputs[1])}, memory}, 0, pass);
    };
    std::vector<Tensor> inputs{x};
    if (place == AttentionPlace::cross) inputs.push_back(y);
    Weights observer;
    const std::vector<Tensor> expected = with_gradients(attention, inputs, &observer, forward);
    const std::vector<Tensor> found = with_gradients(attention, inputs, nullptr, forward);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) expect_near(found[i], expected[i], std::to_string(i));
  }
}

TEST(SelfAttention, WithoutParametersAndPositionsSeesNoOrder) {
  const at::NoGradGuard no_grad;
  const Layout layout = layout_of({7, 6});
  const Tensor x = at::randn({13, kWidth}).to(test_device());
  const Tensor order = at::tensor({3, 0, 6, 1, 5, 2, 4, 12, 7, 9, 8, 11, 10}).to(test_device());
  for (const ScoreKind score : {ScoreKind::scaled_dot, ScoreKind::cosine}) {
    const MultiHeadAttention attention =
        attention_with({.score = score, .positions = PositionKind::none, .projections = ProjectionKind::none});
    Pass pass = Pass::inference();
    const Tensor y = attention->within(x, layout, nullptr, 0, pass);
    expect_near(attention->within(x.index_select(0, order), layout, nullptr, 0, pass), y.index_select(0, order),
                std::string(name_of(score)));
    EXPECT_GT((y.index_select(0, order) - y).abs().max().item<double>(), 0.01);
  }
}

TEST(SelfAttention, OfAWindowIgnoresTokensBeyondItWhateverThePositions) {
  const at::NoGradGuard no_grad;
  const Layout layout = layout_of({9});
  const Tensor x = at::randn({9, kWidth}).to(test_device());
  const Tensor other = at::cat({x.narrow(0, 0, 8), x.narrow(0, 8, 1) + 1});
  for (const auto& [positions, name] : kEnumNames<PositionKind>) {
    const MultiHeadAttention attention = attention_with({.positions = positions, .self_window = 2});
    Pass pass = Pass::inference();
    const Tensor change_T =
        (attention->within(other, layout, nullptr, 0, pass) - attention->within(x, layout, nullptr, 0, pass))
            .abs()
            .amax(1);
    EXPECT_LT(change_T.narrow(0, 0, 6).max().item<double>(), 1e-5) << name;
    EXPECT_GT(change_T.narrow(0, 6, 3).min().item<double>(), 1e-4) << name;
  }
}

// softmax(x xᵀ / sqrt(d)) x
TEST(SelfAttention, WithoutParametersAveragesTheTokensThemselves) {
  const at::NoGradGuard no_grad;
  const MultiHeadAttention attention =
      attention_with({.projections = ProjectionKind::none}, AttentionPlace::encoder, /*heads=*/1);
  EXPECT_TRUE(attention->parameters().empty());
  const Tensor x = at::randn({5, kWidth}).to(test_device());
  Pass pass = Pass::inference();
  expect_near(attention->within(x, layout_of({5}), nullptr, 0, pass),
              at::softmax(x.mm(x.t()) / std::sqrt(static_cast<double>(kWidth)), -1).mm(x), "parameter-free");
}

}  // namespace
}  // namespace attend
