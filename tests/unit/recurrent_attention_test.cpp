// A step of recurrent attention is one fused op for every score that has one, without and with coverage, in every
// scope. That it gives what the plain formulation gives is a property of every model (property/seq2seq_test.cpp).
#include "models/attention/recurrent_attention.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <string>

#include "models/layers/layers.hpp"
#include "models/layers/pass.hpp"
#include "models/ops/dispatch.hpp"
#include "tests/support/layout.hpp"

namespace attend {
namespace {

TEST(RecurrentAttention, AStepIsFused) {
  const at::NoGradGuard no_grad;
  const Layout source = layout_of({3, 7, 1});
  const at::Tensor memory_SW = at::randn({source.num_tokens(), 13}), query_RH = at::randn({2, 13});
  for (const ScoreKind score : {ScoreKind::dot, ScoreKind::scaled_dot, ScoreKind::general, ScoreKind::additive}) {
    for (const auto& [scope, name] : kEnumNames<ScopeKind>) {
      for (const CoverageKind coverage : {CoverageKind::none, CoverageKind::additive}) {
        SCOPED_TRACE(std::string(name_of(score)) + ", " + std::string(name) + ", " + std::string(name_of(coverage)));
        const Attention attention({.score = score,
                                   .scope = scope,
                                   .half_width = 2,
                                   .coverage = coverage,
                                   .query_width = 13,
                                   .memory_width = 13});
        torch::nn::Module model;
        attention.register_in(model);
        initialise(model, 1);
        const Keys keys{.keys_SA = attention.score().prepare(memory_SW), .values_SW = memory_SW, .layout = source};
        const auto makes_weights = [&] {
          AttentionState state{.memory = MemoryRows(keys, {2, 0}), .coverage_RS = {}, .weights_RS = {}};
          Pass pass = Pass::inference();
          attention.context(query_RH, state, pass);
          return state.weights_RS.defined();
        };
        EXPECT_FALSE(makes_weights());
        const ops::Unrolled unrolled;
        EXPECT_TRUE(makes_weights());
      }
    }
  }
}

}  // namespace
}  // namespace attend
