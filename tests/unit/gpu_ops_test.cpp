// The GPU's forms of the ops against their plain formulations, on the processor, where stand-ins compute what the
// kernels of LibTorch document.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/ops/dispatch.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/paths.hpp"
#include "models/ops/recurrent.hpp"
#include "tests/support/fast_and_plain.hpp"
#include "tests/support/gpu_kernels.hpp"
#include "tests/support/heads.hpp"
#include "tests/support/layout.hpp"

namespace attend::ops {
namespace {

class GpuForms : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(3); }
  at::ScalarType type() const { return GetParam(); }
  Tensor randn(at::IntArrayRef sizes) const { return at::randn(sizes).to(type()); }
  Weight weight(const Tensor& master) const {
    Weight result(master);
    result.set_precision(type() == at::kFloat ? Precision::fp32 : Precision::bf16);
    return result;
  }

 private:
  const GpuOps scope_;
};
INSTANTIATE_TEST_SUITE_P(Ops, GpuForms, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& each) { return each.param == at::kFloat ? "fp32" : "bf16"; });

const Layout kRaggedQueries = layout_of({7, 1, 13, 37, 2});
const Layout kRaggedKeys = layout_of({5, 3, 17, 33, 2});

TEST_P(GpuForms, Attention) {
  for (const std::int64_t width : {3 * 8, 3 * 64}) {
    const auto expect = [&](const std::vector<Tensor>& in, const Layout& keys, bool causal, const char* what) {
      const Op op = [&](const std::vector<Tensor>& x) -> std::vector<Tensor> {
        return {attend_heads({x[0], x.size() > 1 ? x[1] : Tensor(), x.size() > 2 ? x[2] : Tensor()}, kRaggedQueries,
                             keys, {.heads = 3, .causal = causal})};
      };
      expect_fast_equals_plain(op, in, type(), what);
    };
    expect({randn({60, width}), randn({60, width}), randn({60, width})}, kRaggedKeys, false, "three tensors");
    expect({randn({60, width}), randn({60, 2 * width})}, kRaggedKeys, false, "keys and values in one tensor");
    expect({randn({60, 3 * width})}, kRaggedQueries, false, "all in one tensor");
    expect({randn({60, 3 * width})}, kRaggedQueries, true, "causal");
  }
}

TEST_P(GpuForms, AttentionWithoutAKernelIsPlain) {
  const Layout empty = layout_of({0, 5}), layout = layout_of({5});
  const auto fused = [&](std::int64_t width, const Layout& sentences, const HeadsForm& form) {
    return fused_attention({randn({5, 3 * width})}, sentences, sentences, form);
  };
  const bool bf16 = type() == at::kBFloat16;
  EXPECT_TRUE(fused(16, layout, {.heads = 2}).defined());
  EXPECT_EQ(fused(16, empty, {.heads = 2}).defined(), bf16);
  EXPECT_EQ(fused(8, layout, {.heads = 2}).defined(), !bf16);
  EXPECT_FALSE(fused(6, layout, {.heads = 2}).defined());
  EXPECT_EQ(fused(200, layout, {.heads = 1}).defined(), !bf16);
  EXPECT_FALSE(fused(16, layout, {.heads = 2, .longest = 5, .biases_ND = at::zeros({1, 9})}).defined());
  EXPECT_EQ(fused(16, layout, {.heads = 2, .longest = 5, .biases_ND = at::zeros({1, 9}), .half_width = 1}).defined(),
            bf16);
}

TEST_P(GpuForms, AWindowIsAForm) {
  for (const AttentionPlace place : {AttentionPlace::encoder, AttentionPlace::decoder}) {
    const Heads heads({.self_window = 2}, {.place = place, .width = 32, .heads = 2});
    const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      Pass pass = Pass::inference();
      return {heads.within({in[0]}, kRaggedQueries, {}, kRaggedQueries, 0, pass)};
    };
    expect_fast_equals_plain(op, {randn({60, 96})}, type(), "window");
  }
}

// The kernels draw from a generator that restarts at the key, in both passes.
TEST_P(GpuForms, DroppedWeightsFollowFromTheKey) {
  const Layout layout = layout_of({9, 4});
  const Tensor qkv = randn({13, 96}), direction = randn({13, 32});
  const auto run = [&](std::uint64_t key, const Tensor& rows) {
    return attend_heads({rows}, layout, layout, {.heads = 2, .dropout = {.rate = 0.4, .key = key}});
  };
  const Tensor once = run(5, qkv);
  at::rand({3});
  EXPECT_TRUE(at::equal(run(5, qkv), once));
  EXPECT_FALSE(at::equal(run(6, qkv), once));
  if (type() == at::kBFloat16) return;
  // The gradient is that of the function with these weights dropped.
  const Tensor leaf = qkv.clone().requires_grad_(), step = at::randn_like(qkv);
  run(5, leaf).mul(direction).sum().backward();
  const double slope =
      ((run(5, qkv + 1e-2 * step) - run(5, qkv - 1e-2 * step)) * direction).sum().item<double>() / 2e-2;
  EXPECT_NEAR((leaf.grad() * step).sum().item<double>(), slope, 2e-2 * std::abs(slope) + 1e-2);
}

TEST_P(GpuForms, DroppedElementsFollowFromTheKey) {
  const Tensor x = at::ones({50, 40}, type()), once = dropout(x, {.rate = 0.25, .key = 9});
  at::rand({3});
  EXPECT_TRUE(at::equal(dropout(x, {.rate = 0.25, .key = 9}), once));
  EXPECT_FALSE(at::equal(dropout(x, {.rate = 0.25, .key = 10}), once));
  EXPECT_NEAR(once.eq(0).to(at::kFloat).mean().item<double>(), 0.25, 0.05);
  EXPECT_NEAR(once.to(at::kFloat).mean().item<double>(), 1, 0.07);
  EXPECT_TRUE(at::equal(dropout(x, {}), x));
}

TEST_P(GpuForms, Linear) {
  const Tensor master = at::randn({33, 19}).requires_grad_(), bias = at::randn({33}).requires_grad_();
  const Weight w = weight(master);
  for (const bool biased : {true, false}) {
    const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      return {linear(in[0], w, biased ? bias : Tensor(), Activation::gelu)};
    };
    std::vector<Tensor> parameters = {master};
    if (biased) parameters.push_back(bias);
    expect_fast_equals_plain(op, {randn({4, 7, 19})}, type(), biased ? "with bias" : "without", parameters);
  }
  EXPECT_EQ(linear(randn({0, 19}), w, bias).sizes(), at::IntArrayRef({0, 33}));
}

TEST_P(GpuForms, CrossEntropy) {
  const Tensor master = at::randn({37, 24}).requires_grad_(), bias = at::randn({37}).requires_grad_();
  const Weight table = weight(master);
  const Tensor labels = at::randint(0, 37, {131}, at::kLong);
  for (const double smoothing : {0.0, 0.1}) {
    const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      const auto result = cross_entropy(in[0], table, bias, labels, smoothing);
      return {result.loss, result.nll_M, result.num_correct};
    };
    expect_fast_equals_plain(op, {randn({131, 24})}, type(), "loss", {master, bias});
  }
}

TEST(GpuLoss, BlocksAddUp) {  // 95 rows and 2
  const GpuOps scope;
  const std::int64_t vocabulary = 700000;
  const Weight table(at::randn({vocabulary, 2}));
  const Tensor hidden = at::randn({97, 2}).requires_grad_(), labels = at::randint(0, vocabulary, {97}, at::kLong);
  const CrossEntropy whole = cross_entropy(hidden, table, {}, labels, 0.1);
  whole.loss.backward();
  Tensor loss = at::zeros({}), gradient = at::zeros({97, 2});
  for (const std::int64_t first : {0, 50}) {
    const std::int64_t count = first == 0 ? 50 : 47;
    const Tensor part = hidden.detach().narrow(0, first, count).requires_grad_();
    const CrossEntropy of_part = cross_entropy(part, table, {}, labels.narrow(0, first, count), 0.1);
    of_part.loss.backward();
    loss += of_part.loss.detach();
    gradient.narrow(0, first, count).copy_(part.grad());
  }
  EXPECT_NEAR(whole.loss.item<double>() / loss.item<double>(), 1, 1e-5);
  expect_close(hidden.grad(), gradient, at::kFloat, "gradient");
}

TEST_P(GpuForms, RecurrentLayers) {
  const std::int64_t width = 5;
  for (const CellKind kind : {CellKind::lstm, CellKind::gru, CellKind::tanh}) {
    const std::int64_t gates = kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1;
    std::vector<Tensor> parameters;
    const auto direction = [&](bool reverse) {
      for (const at::IntArrayRef sizes : {at::IntArrayRef({gates * width, 6}), at::IntArrayRef({gates * width, width}),
                                          at::IntArrayRef({gates * width}), at::IntArrayRef({gates * width})}) {
        parameters.push_back((0.5 * at::randn(sizes)).requires_grad_());
      }
      const Tensor* p = &parameters[parameters.size() - 4];
      return Direction{{kind, weight(p[0]), weight(p[1]), p[2], p[3]}, reverse};
    };
    for (const std::vector<bool>& reverse : {std::vector<bool>{false}, {true}, {false, true}}) {
      parameters.clear();
      std::vector<Direction> directions;
      for (const bool each : reverse) directions.push_back(direction(each));
      const std::int64_t columns = std::ssize(reverse) * width;
      const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        CellState start{{in[1]}};
        if (kind == CellKind::lstm) start.parts.push_back(in[2]);
        const LayerOutput result =
            recurrent_layer({.x_MI = in[0], .layout = kRaggedQueries, .start = &start}, directions);
        std::vector<Tensor> all = {result.output_MC};
        all.insert(all.end(), result.last.parts.begin(), result.last.parts.end());
        return all;
      };
      std::vector<Tensor> inputs = {randn({60, 6}), randn({5, columns})};
      if (kind == CellKind::lstm) inputs.push_back(at::randn({5, columns}));
      if (type() == at::kFloat) {
        expect_fast_equals_plain(op, inputs, type(), std::string(name_of(kind)), parameters);
        continue;
      }
      // The states between the steps are bf16, too.
      const at::NoGradGuard no_grad;
      const std::vector<Tensor> packed = op(inputs);
      const PlainOps plain;
      const std::vector<Tensor> expected = op(inputs);
      for (std::size_t i = 0; i < packed.size(); ++i) {
        EXPECT_EQ(packed[i].scalar_type(), expected[i].scalar_type());
        EXPECT_LE((packed[i] - expected[i]).abs().max().item<double>(), 0.06) << name_of(kind);
      }
    }
  }
}

TEST_P(GpuForms, CellSteps) {
  for (const CellKind kind : {CellKind::lstm, CellKind::gru, CellKind::tanh}) {
    const std::int64_t gates = kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1;
    const std::vector<Tensor> p = {at::randn({gates * 5, 6}).requires_grad_(),
                                   at::randn({gates * 5, 5}).requires_grad_(), at::randn({gates * 5}).requires_grad_(),
                                   at::randn({gates * 5}).requires_grad_()};
    const CellWeights cell{kind, weight(p[0]), weight(p[1]), p[2], p[3]};
    const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      CellState state{{in[1]}};
      if (kind == CellKind::lstm) state.parts.push_back(in[2]);
      return cell_step(in[0], state, cell).parts;
    };
    std::vector<Tensor> inputs = {randn({7, 6}), randn({7, 5})};
    if (kind == CellKind::lstm) inputs.push_back(at::randn({7, 5}));
    expect_fast_equals_plain(op, inputs, type(), std::string(name_of(kind)), p);
  }
}

}  // namespace
}  // namespace attend::ops
