// Single ops beside PyTorch's: outputs and every input gradient (fixtures by make_fixtures_ops.py), fast and plain.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/ops/dispatch.hpp"
#include "models/ops/ops.hpp"
#include "tests/support/heads.hpp"
#include "tests/support/parity.hpp"

namespace attend::ops {
namespace {

using torch::Tensor;
using ParityOp = std::function<Tensor(const std::vector<Tensor>&)>;

const Layout kLayout{.offsets = {0, 5, 6, 13}, .max_length = 7};

class OpsParity : public testing::TestWithParam<bool> {
 protected:
  OpsParity() {
    if (GetParam()) plain_ = std::make_unique<PlainOps>();
  }

  // Sums of some twenty products in another order, and erf to 1.5e-7: generous for numbers around 1.
  static void expect_close(const Tensor& ours, const Tensor& theirs, const std::string& what) {
    ASSERT_EQ(ours.sizes(), theirs.sizes()) << what;
    EXPECT_TRUE(at::allclose(ours, theirs, 1e-5, 1e-5)) << what << " differs by " << (ours - theirs).abs().max();
  }

  void expect_parity(const std::string& name, const ParityOp& op) const {
    std::vector<Tensor> inputs;
    for (int i = 0; fixture_.has(name + ".in." + std::to_string(i)); ++i) {
      inputs.push_back(fixture_.tensor(name + ".in." + std::to_string(i)).requires_grad_());
    }
    ASSERT_FALSE(inputs.empty()) << name;
    const Tensor out = op(inputs);
    expect_close(out, fixture_.tensor(name + ".out"), name);
    out.backward(fixture_.tensor(name + ".seed"));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string which = name + ".grad." + std::to_string(i);
      expect_close(inputs[i].grad(), fixture_.tensor(which), which);
    }
  }

  Fixture fixture_{"ops"};

 private:
  std::unique_ptr<PlainOps> plain_;
};
INSTANTIATE_TEST_SUITE_P(Paths, OpsParity, testing::Bool(),
                         [](const auto& plain) { return plain.param ? "plain" : "fast"; });

TEST_P(OpsParity, Attention) {
  for (const bool causal : {false, true}) {
    expect_parity(causal ? "attention_causal" : "attention", [&](const std::vector<Tensor>& in) {
      return attend_heads({in[0], in[1], in[2]}, kLayout, kLayout, {.heads = 3, .causal = causal});
    });
  }
}

TEST_P(OpsParity, Linear) {
  const std::vector<std::pair<std::string, Activation>> activations = {{"none", Activation::none},
                                                                       {"relu", Activation::relu},
                                                                       {"gelu", Activation::gelu},
                                                                       {"gelu_tanh", Activation::gelu_tanh},
                                                                       {"tanh", Activation::tanh}};
  for (const auto& [name, activation] : activations) {
    expect_parity("linear_" + name, [&, kind = activation](const std::vector<Tensor>& in) {
      return linear(in[0], Weight(in[1]), in[2], kind);
    });
  }
}

TEST_P(OpsParity, AddLayerNorm) {
  expect_parity("add_layer_norm", [](const std::vector<Tensor>& in) {
    return add_layer_norm(in[0], in[1], in[2], in[3], 1e-5, {}).norm;
  });
}

TEST_P(OpsParity, CrossEntropy) {
  expect_parity("cross_entropy", [&](const std::vector<Tensor>& in) {
    return cross_entropy(in[0], Weight(in[1]), in[2], fixture_.tensor("cross_entropy.labels"), 0.1).loss;
  });
}

}  // namespace
}  // namespace attend::ops
