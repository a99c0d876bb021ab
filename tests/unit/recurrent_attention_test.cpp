// A fused step of recurrent attention beside the plain formulation that it replaces (Attention::context): every score
// that has one, without and with coverage, in every scope, over the steps of a search, at odd and unequal sizes.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <string>
#include <tuple>
#include <vector>

#include "models/attention/recurrent_attention.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/pass.hpp"
#include "models/ops/dispatch.hpp"
#include "tests/support/layout.hpp"

namespace attend {
namespace {

using torch::Tensor;

using Kinds = std::tuple<ScoreKind, CoverageKind, at::ScalarType>;

class RecurrentAttention : public testing::TestWithParam<Kinds> {
 public:
  static std::string name(const testing::TestParamInfo<Kinds>& info) {
    const auto [score, coverage, type] = info.param;
    std::string name(name_of(score));
    std::erase(name, '-');
    return name + (coverage == CoverageKind::none ? "_" : "_coverage_") + at::toString(type);
  }
};

// Some rows' contexts at each of four steps, between which rows are chosen, and what they have covered then.
std::vector<Tensor> attended(const Attention& attention, const Keys& keys, const Tensor& queries_TRH,
                             bool expect_fused) {
  Pass pass = Pass::inference();
  AttentionState state{.memory = MemoryRows(keys, {6, 3, 1, 1, 4}), .coverage_RS = {}, .weights_RS = {}};
  std::vector<Tensor> results;
  for (std::int64_t step = 0; step < queries_TRH.size(0); ++step) {
    if (step == 2) state = state.select(std::vector<std::int64_t>{4, 2, 1, 0, 2});
    if (step == 3) state.keep_first(3);
    const Tensor query_RH = queries_TRH[step].narrow(0, 0, std::ssize(state.memory.sentences()));
    results.push_back(attention.context(query_RH, state, pass));
    EXPECT_NE(state.weights_RS.defined(), expect_fused);
  }
  if (state.coverage_RS.defined()) results.push_back(state.coverage_RS);
  return results;
}

TEST_P(RecurrentAttention, AFusedStepIsThePlainOne) {
  const auto [score, coverage, type] = GetParam();
  const at::NoGradGuard no_grad;
  const Layout source = layout_of({3, 7, 1, 0, 5, 2, 6});
  const std::int64_t width = 13, memory_width = recipe_of(score).needs_equal_widths ? width : 37;
  for (const auto& [scope, name] : kEnumNames<ScopeKind>) {
    SCOPED_TRACE(name);
    at::manual_seed(5);
    const Attention attention({.score = score,
                               .scope = scope,
                               .half_width = 2,
                               .coverage = coverage,
                               .query_width = width,
                               .memory_width = memory_width});
    torch::nn::Module model;
    attention.register_in(model);
    for (const Tensor& parameter : model.parameters()) parameter.normal_(0, 0.5);
    visit_weights(model, [type = type](ops::Weight& weight) {
      weight.set_precision(type == at::kFloat ? Precision::fp32 : Precision::bf16);
    });
    const Tensor memory_SW = at::randn({source.num_tokens(), memory_width}).to(type);
    const Keys keys{.keys_SA = attention.score().prepare(memory_SW), .values_SW = memory_SW, .layout = source};
    const Tensor queries_TRH = at::randn({4, 5, width}).to(type);

    const std::vector<Tensor> fused = attended(attention, keys, queries_TRH, /*expect_fused=*/true);
    const ops::Unrolled unrolled;
    const std::vector<Tensor> plain = attended(attention, keys, queries_TRH, /*expect_fused=*/false);
    ASSERT_EQ(fused.size(), plain.size());
    ASSERT_EQ(fused.size(), coverage == CoverageKind::none ? 4U : 5U);
    for (std::size_t i = 0; i < fused.size(); ++i) {
      SCOPED_TRACE("tensor " + std::to_string(i));
      ASSERT_EQ(fused[i].sizes(), plain[i].sizes());
      ASSERT_EQ(fused[i].scalar_type(), plain[i].scalar_type());
      const auto norm = [](const Tensor& x) { return x.to(at::kDouble).norm().item<double>(); };
      EXPECT_GT(norm(plain[i]), 0);
      // Sums in another order; in bf16, too, all but the contexts is fp32, which are rounded at the end.
      const double tolerance = fused[i].scalar_type() == at::kFloat ? 1e-5 : 1.0 / 256;
      EXPECT_LE(norm(fused[i] - plain[i]), tolerance * norm(plain[i]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RecurrentAttention,
                         testing::Combine(testing::Values(ScoreKind::dot, ScoreKind::scaled_dot, ScoreKind::general,
                                                          ScoreKind::additive),
                                          testing::Values(CoverageKind::none, CoverageKind::additive),
                                          testing::Values(at::kFloat, at::kBFloat16)),
                         RecurrentAttention::name);

}  // namespace
}  // namespace attend
