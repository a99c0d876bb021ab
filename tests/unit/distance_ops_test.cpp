// Attention with biases by distance, and with another scale: the fused forms against the plain formulation.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <string>
#include <utility>
#include <vector>

#include "models/attention/heads.hpp"
#include "models/ops/dispatch.hpp"
#include "tests/support/fast_and_plain.hpp"
#include "tests/support/layout.hpp"

namespace attend::ops {
namespace {

using torch::Tensor;

// An empty sentence, and more than the 128 tokens whose distances T5 tells apart.
const Layout kSentences = layout_of({7, 1, 0, 13, 37, 140});
constexpr std::int64_t kTokens = 198, kHeads = 3;

class RandomHeads {
 public:
  explicit RandomHeads(const HeadsConfig& config) : heads(config) {
    heads.register_in(module_);
    const at::NoGradGuard no_grad;
    for (Tensor& parameter : parameters()) parameter.normal_();
  }
  std::vector<Tensor> parameters() const { return module_.parameters(); }

  Heads heads;

 private:
  torch::nn::Module module_;
};

struct Form {
  std::string name;
  PositionKind positions;
  std::int64_t self_window = 0;
};
const std::vector<Form> kForms = {{"alibi", PositionKind::alibi},
                                  {"t5", PositionKind::t5},
                                  {"window", PositionKind::none, 3},
                                  {"t5 in a window", PositionKind::t5, 20},
                                  {"transformer-xl", PositionKind::transformer_xl},
                                  {"transformer-xl in a window", PositionKind::transformer_xl, 20},
                                  {"relative", PositionKind::relative},
                                  {"relative in a window", PositionKind::relative, 20}};

HeadsConfig config_of(const Form& form, std::int64_t size, bool causal) {
  return {.place = causal ? AttentionPlace::decoder : AttentionPlace::encoder,
          .width = kHeads * size,
          .heads = kHeads,
          .positions = form.positions,
          .self_window = form.self_window,
          .causal = causal};
}

class DistanceOps : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(5); }
  at::ScalarType type() const { return GetParam(); }
  Tensor randn(at::IntArrayRef sizes) const { return at::randn(sizes).to(type()); }
};
INSTANTIATE_TEST_SUITE_P(Distances, DistanceOps, testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return type.param == at::kFloat ? "fp32" : "bf16"; });

TEST_P(DistanceOps, WithinSentences) {
  for (const Form& form : kForms) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t size : {5, 16}) {
        for (const double rate : {0.0, 0.3}) {
          HeadsConfig config = config_of(form, size, causal);
          config.dropout = rate;
          const RandomHeads random(config);
          const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
            Pass pass = rate > 0 ? Pass::train(21) : Pass::inference();
            return {random.heads.within({in[0]}, kSentences, {}, kSentences, 0, pass)};
          };
          expect_fast_equals_plain(op, {randn({kTokens, 3 * kHeads * size})}, type(),
                                   form.name + (causal ? ", causal" : ""), random.parameters());
        }
      }
    }
  }
}

TEST_P(DistanceOps, ChosenQueriesKeepTheirNumbers) {
  const Selection chosen = select({0, 3, 7, 10, 20, 21, 57, 58, 100, 197}, kSentences, at::kCPU);
  const Tensor places_K = chosen.of(kSentences.on(at::kCPU).places_M);
  for (const Form& form : kForms) {
    const RandomHeads random(config_of(form, 16, /*causal=*/false));
    const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      Pass pass = Pass::inference();
      return {random.heads.within({chosen.of(in[0]), in[1]}, chosen.layout, places_K, kSentences, 0, pass)};
    };
    const Tensor q = randn({kTokens, 48}), kv = randn({kTokens, 96});
    expect_fast_equals_plain(op, {q, kv}, type(), form.name, random.parameters());
    Pass pass = Pass::inference();
    const Tensor all = random.heads.within({q, kv}, kSentences, {}, kSentences, 0, pass);
    expect_close(op({q, kv})[0], chosen.of(all), type(), form.name + ", among all");
  }
}

// Steps of two hypotheses, which never split. The last ones see none of the first vectors of keys through a window.
TEST_P(DistanceOps, StepsAreTheLastRowsOfCausalAttention) {
  const at::NoGradGuard no_grad;
  const std::int64_t steps = 150;
  std::vector<std::pair<Form, std::int64_t>> cases = {{kForms.back(), 21}, {kForms.end()[-3], 21}};
  for (const Form& form : kForms) cases.emplace_back(form, 16);
  for (const auto& [form, size] : cases) {
    const RandomHeads random(config_of(form, size, /*causal=*/true));
    std::vector<Tensor> q, kv;
    Ancestry ancestry;
    for (std::int64_t t = 0; t < steps; ++t) {
      q.push_back(randn({2, kHeads * size}));
      kv.push_back(randn({2, 2 * kHeads * size}));
      ancestry.push_back({0, 1});
      if (t != 0 && t != 1 && t != 40 && t + 1 != steps) continue;
      const auto step = [&] {
        Pass pass = Pass::inference();
        return random.heads.to_steps(q.back(), kv, ancestry, 0, pass);
      };
      const Tensor fast = step();
      const Layout layout = layout_of({t + 1, t + 1});
      Pass pass = Pass::inference();
      const Tensor whole = random.heads.within({at::stack(q, 1).flatten(0, 1), at::stack(kv, 1).flatten(0, 1)}, layout,
                                               {}, layout, 0, pass);
      const std::string what = form.name + ", step " + std::to_string(t);
      expect_close(fast, at::stack({whole[t], whole[2 * t + 1]}), type(), what);
      const PlainOps plain;
      expect_close(fast, step(), type(), what + ", plain");
    }
  }
}

TEST_P(DistanceOps, StepsOfEveryScore) {
  const at::NoGradGuard no_grad;
  const auto expect_fast_is_plain = [&](const std::string& what, const auto& step) {
    const Tensor fast = step();
    EXPECT_EQ(fast.scalar_type(), type()) << what;
    const PlainOps plain;
    expect_close(fast, step(), type(), what);
  };
  for (const ScoreKind score :
       {ScoreKind::general, ScoreKind::additive, ScoreKind::rbf, ScoreKind::elu1, ScoreKind::cosine}) {
    for (const std::int64_t size : {1, 5, 16}) {
      for (const std::int64_t window : {0, 3}) {
        const std::string what = std::string(name_of(score)) + ", " + std::to_string(size);
        HeadsConfig config = config_of({"window", PositionKind::none, window}, size, /*causal=*/true);
        config.score = score;
        const RandomHeads within(config);
        const auto kv = [&](const Heads& heads, std::int64_t rows) {
          return heads.stored(0.3 * randn({rows, 2 * kHeads * size}));
        };
        const Tensor q = 0.3 * randn({3, kHeads * size});
        std::vector<Tensor> steps;
        Ancestry ancestry;
        for (std::int64_t t = 0; t < 21; ++t) {
          steps.push_back(kv(within.heads, 3));
          ancestry.push_back({t % 3, 2, t % 2});
        }
        expect_fast_is_plain(what + " to " + std::to_string(window) + " steps", [&] {
          Pass pass = Pass::inference();
          return within.heads.to_steps(q, steps, ancestry, 0, pass);
        });
        config.place = AttentionPlace::cross;
        const RandomHeads cross(config);
        const Tensor memory = kv(cross.heads, kTokens);
        expect_fast_is_plain(what + " to a memory", [&] {
          Pass pass = Pass::inference();
          return cross.heads.to_memory(q, memory, kSentences, std::vector<std::int64_t>{4, 2, 0}, 0, 0, pass);
        });
      }
    }
  }
}

TEST_P(DistanceOps, NothingOutsideTheWindowHasAnInfluence) {
  const Layout layout = layout_of({60});
  const RandomHeads random(config_of({"window", PositionKind::none, 2}, 16, /*causal=*/false));
  const Tensor q = randn({60, 48}), kv = randn({60, 96}).requires_grad_();
  Pass pass = Pass::inference();
  random.heads.within({q, kv}, layout, {}, layout, 0, pass)[30].sum().backward();
  const Tensor read = kv.grad().ne(0).any(1);
  EXPECT_TRUE(at::equal(read.nonzero().flatten(), at::arange(28, 33))) << read;
}

// Many queries and positions have the same distance, or the last row of a table, to whose gradient several threads add.
TEST(NumbersOfHeads, HaveTheSameGradientsWhenRepeated) {
  const int before = at::get_num_threads();
  at::set_num_threads(4);
  at::manual_seed(5);
  const Layout layout = layout_of({140, 140});
  const Tensor x = at::randn({280, 48});
  HeadsConfig t5 = config_of({"t5", PositionKind::t5}, 16, /*causal=*/false), random_table = t5;
  random_table.positions = PositionKind::none;
  random_table.self_attention = SelfAttentionKind::random;
  random_table.longest = 6;
  const PlainOps plain;
  for (const HeadsConfig& config : {t5, random_table}) {
    const RandomHeads random(config);
    const Tensor parameter = random.parameters().at(0);
    const auto gradient = [&] {
      parameter.mutable_grad() = Tensor();
      Pass pass = Pass::inference();
      const Tensor y = random.heads.within({x, x, x}, layout, {}, layout, 0, pass);
      (y * at::arange(y.numel(), y.options()).view_as(y).cos()).sum().backward();
      return parameter.grad();
    };
    const Tensor first = gradient();
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(at::equal(gradient(), first)) << parameter.sizes();
  }
  at::set_num_threads(before);
}

TEST_P(DistanceOps, DotProductsHaveNoScale) {
  for (const ScoreKind score : {ScoreKind::dot, ScoreKind::general}) {
    HeadsConfig config = config_of({"t5", PositionKind::t5}, 16, /*causal=*/false);
    config.score = score;
    const RandomHeads random(config);
    const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      Pass pass = Pass::inference();
      return {random.heads.within({in[0]}, kSentences, {}, kSentences, 0, pass)};
    };
    // The fast path rounds the mapped queries of general: larger energies would show that in bf16.
    const double size = score == ScoreKind::general ? 0.3 : 1;
    expect_fast_equals_plain(op, {size * randn({kTokens, 144})}, type(), std::string(name_of(score)),
                             random.parameters());

    const at::NoGradGuard no_grad;
    config.place = AttentionPlace::cross;
    const RandomHeads cross(config);
    const Tensor q = randn({2, 48}), kv = randn({kTokens, 96});
    const auto step = [&] {
      Pass pass = Pass::inference();
      return cross.heads.to_memory(q, kv, kSentences, std::vector<std::int64_t>{4, 0}, 0, 0, pass);
    };
    const Tensor fast = step();
    const PlainOps plain;
    expect_close(fast, step(), type(), std::string(name_of(score)) + " to a memory");
  }
}

}  // namespace
}  // namespace attend::ops
