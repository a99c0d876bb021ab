// The ops of a step of search, of distances and of divergences.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "models/attention/heads.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/ops.hpp"
#include "tests/support/fast_and_plain.hpp"
#include "tests/support/heads.hpp"
#include "tests/support/layout.hpp"

namespace attend::ops {
namespace {

double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.to(torch::kFloat) - b.to(torch::kFloat)).abs().max().item<double>();
}

// bf16 keeps 8 bits: sums of a few unit-sized numbers, rounded once at the end by either path, differ by 1 in 2^7.
double decode_tolerance(at::ScalarType type) { return type == at::kFloat ? 1e-5 : 3e-2; }

TEST(DecodeOps, SelfAttentionFollowsTheAncestry) {
  const at::NoGradGuard no_grad;
  torch::manual_seed(1);
  const std::vector<std::int64_t> rows = {2, 3, 5};
  const Ancestry ancestry = {{0, 1, 1, 0, 1}, {2, 0, 1, 1, 0}, {0, 1, 2, 3, 4}};
  for (const std::int64_t heads : {1, 3}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      std::vector<torch::Tensor> products, kv;  // q | k | v, k | v
      for (const auto count : rows) {
        products.push_back(torch::randn({count, 3 * 21}).to(type));
        kv.push_back(products.back().narrow(1, 21, 2 * 21).contiguous());
      }
      const auto q = products.back().narrow(1, 0, 21);
      const auto attended = [&] {
        Pass pass = Pass::inference();
        return heads_of(21, {.heads = heads, .causal = true}).to_steps(q, kv, ancestry, 0, pass);
      };
      const auto fast = attended();
      EXPECT_EQ(fast.scalar_type(), type);
      const PlainOps plain;
      EXPECT_LE(largest_difference(fast, attended()), decode_tolerance(type));

      // And as causal attention over the history written out.
      for (std::int64_t r = 0; r < 5; ++r) {
        std::vector<torch::Tensor> history;
        for (std::size_t t = 0; t < products.size(); ++t) history.push_back(products[t][ancestry[t][r]]);
        const auto q_k_v = torch::stack(history).chunk(3, 1);
        const Layout layout{.offsets = {0, 3}, .max_length = 3};
        const auto whole =
            attend_heads({q_k_v[0], q_k_v[1], q_k_v[2]}, layout, layout, {.heads = heads, .causal = true});
        EXPECT_LE(largest_difference(fast[r], whole[2]), decode_tolerance(type));
      }
    }
  }
}

TEST(DecodeOps, CrossAttentionReadsItsSentence) {
  const at::NoGradGuard no_grad;
  torch::manual_seed(2);
  const Layout memory{.offsets = {0, 3, 3, 10, 11}, .max_length = 7};  // the second sentence is empty
  const std::vector<std::int64_t> sentences = {2, 0, 2, 1, 3, 0};
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto q = torch::randn({6, 37 * 2}).to(type);
    const auto kv = torch::randn({11, 2 * 37 * 2}).to(type);
    const auto attended = [&] {
      Pass pass = Pass::inference();
      return heads_of(37 * 2, {.heads = 2}).to_memory(q, kv, memory, sentences, 0, 0, pass);
    };
    const auto fast = attended();
    EXPECT_EQ(fast.scalar_type(), type);
    EXPECT_EQ(fast[3].abs().sum().item<float>(), 0);
    const PlainOps plain;
    EXPECT_LE(largest_difference(fast, attended()), decode_tolerance(type));
  }
}

TEST(DecodeOps, TheWorkedExampleOfTheScaledSoftmax) {
  // Scores [112 96; 88 120] with keys of 64 numbers: weights [0.88 0.12; 0.02 0.98].
  const at::NoGradGuard no_grad;
  auto q = torch::zeros({2, 64}), kv = torch::zeros({2, 128});
  q[0][0] = q[1][1] = 1;
  kv[0][0] = 112, kv[1][0] = 96, kv[0][1] = 88, kv[1][1] = 120;
  kv[0][64] = kv[1][65] = 1;  // values that show the weights
  const Layout memory{.offsets = {0, 2}, .max_length = 2};
  Pass pass = Pass::inference();
  const auto context = heads_of(64, {}).to_memory(q, kv, memory, std::vector<std::int64_t>{0, 0}, 0, 0, pass);
  const auto expected = torch::tensor({{0.88F, 0.12F}, {0.02F, 0.98F}});
  EXPECT_LE(largest_difference(context.narrow(1, 0, 2), expected), 0.005);
  const auto weights = weights_of_heads(q, kv.narrow(1, 0, 64), memory, memory, {});
  EXPECT_LE(largest_difference(weights[0][0], expected), 0.005);
}

TEST(DecodeOps, TopLogProbsAreTheBestOfTheLogSoftmax) {
  torch::manual_seed(3);
  for (const std::int64_t vocabulary : {1, 7, 64, 65, 1000}) {
    for (const std::int64_t k : {1, 5, 13}) {
      auto logits = torch::randn({4, vocabulary}) * 5;
      logits[1] = logits[1].round();  // ties
      logits[2].narrow(0, 0, (vocabulary + 1) / 2).fill_(-std::numeric_limits<float>::infinity());
      logits[3][vocabulary / 2] = std::numeric_limits<float>::quiet_NaN();
      const auto fast = top_log_probs(logits, k);
      EXPECT_EQ(fast.k, std::min(k, vocabulary));
      const PlainOps plain;
      const auto expected = top_log_probs(logits, k);
      ASSERT_EQ(fast.values.size(), expected.values.size());
      for (std::size_t i = 0; i < fast.values.size(); ++i) {
        if (std::isinf(expected.values[i])) {
          EXPECT_EQ(fast.values[i], expected.values[i]);
        } else {
          EXPECT_NEAR(fast.values[i], expected.values[i], 2e-5);
          EXPECT_EQ(fast.ids[i], expected.ids[i]);
        }
      }
      for (std::int64_t j = 0; j < fast.k; ++j) EXPECT_TRUE(std::isinf(fast.values[3 * fast.k + j]));
    }
  }
}

// The divergence of R-Drop against its definition, and its fast path against the plain formulation.

using torch::Tensor;

Op divergence_in(Precision precision) {
  return [=](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    Weight table(in[2]);
    table.set_precision(precision);
    return {symmetric_divergence(in[0], in[1], table, in.size() > 3 ? in[3] : Tensor())};
  };
}

std::vector<Tensor> divergence_by_kl_div(const std::vector<Tensor>& in) {
  const auto log_of = [&](const Tensor& x) { return at::log_softmax(at::linear(x, in[2], in[3]), 1); };
  const Tensor log_p = log_of(in[0]), log_q = log_of(in[1]);
  const auto kl = [](const Tensor& log_a, const Tensor& log_b) {
    return at::kl_div(log_b, log_a, at::Reduction::Sum, /*log_target=*/true);
  };
  return {(kl(log_p, log_q) + kl(log_q, log_p)) / 2};
}

TEST(DivergenceOps, IsHalfTheSumOfBothDirections) {
  at::manual_seed(5);
  const std::vector<Tensor> in = {at::randn({13, 7}), at::randn({13, 7}), at::randn({37, 7}), at::randn(37)};
  std::vector<Tensor> exact;
  for (const Tensor& tensor : in) exact.push_back(tensor.to(at::kDouble));
  const std::vector<Tensor> expected = outputs_and_gradients(divergence_by_kl_div, exact);
  ASSERT_GT(expected[0].item<double>(), 1);
  const auto check = [&](const char* path) {
    const std::vector<Tensor> found = outputs_and_gradients(divergence_in(Precision::fp32), in);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) expect_close(found[i], expected[i].to(at::kFloat), at::kFloat, path);
  };
  check("fast");
  const PlainOps scope;
  check("plain");
}

TEST(DivergenceOps, FastEqualsPlain) {
  at::manual_seed(5);
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const at::ScalarType type = precision == Precision::fp32 ? at::kFloat : at::kBFloat16;
    const std::vector<Tensor> in = {at::randn({131, 7}).to(type), at::randn({131, 7}).to(type), at::randn({37, 7}),
                                    at::randn(37)};
    expect_fast_equals_plain(divergence_in(precision), in, type, "divergence");
  }
  // 300 rows of 17,000 logits are three blocks.
  const std::vector<Tensor> large = {0.1 * at::randn({300, 8}), 0.1 * at::randn({300, 8}), at::randn({17000, 8})};
  expect_fast_equals_plain(divergence_in(Precision::fp32), large, at::kFloat, "blocks");
}

TEST(DivergenceOps, OfEqualDistributionsIsZero) {
  at::manual_seed(5);
  const Tensor hidden = at::randn({13, 7});
  const std::vector<Tensor> found =
      outputs_and_gradients(divergence_in(Precision::fp32), {hidden, hidden, at::randn({37, 7})});
  for (const Tensor& tensor : found) EXPECT_LE(tensor.abs().max().item<double>(), 1e-6);
}

// Attention with biases by distance, and with another scale: the fused forms against the plain formulation.

// An empty sentence, and more than the 128 tokens whose distances T5 tells apart.
const Layout kSentences = layout_of({7, 1, 0, 13, 37, 140});
constexpr std::int64_t kTokens = 198, kHeads = 3;

class RandomHeads {
 public:
  RandomHeads(const BlockOptions& options, const AttentionShape& shape) : heads(options, shape) {
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

BlockOptions options_of(const Form& form) { return {.positions = form.positions, .self_window = form.self_window}; }
AttentionShape shape_of(std::int64_t size, bool causal) {
  return {.place = causal ? AttentionPlace::decoder : AttentionPlace::encoder, .width = kHeads * size, .heads = kHeads};
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
          BlockOptions options = options_of(form);
          options.attention_dropout = rate;
          const RandomHeads random(options, shape_of(size, causal));
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
    const RandomHeads random(options_of(form), shape_of(16, /*causal=*/false));
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
    const RandomHeads random(options_of(form), shape_of(size, /*causal=*/true));
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
        BlockOptions options = options_of({"window", PositionKind::none, window});
        options.score = score;
        AttentionShape shape = shape_of(size, /*causal=*/true);
        const RandomHeads within(options, shape);
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
        shape.place = AttentionPlace::cross;
        const RandomHeads cross(options, shape);
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
  const RandomHeads random(options_of({"window", PositionKind::none, 2}), shape_of(16, /*causal=*/false));
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
  const BlockOptions t5{.positions = PositionKind::t5},
      random_table{.positions = PositionKind::none, .self_attention = SelfAttentionKind::random};
  AttentionShape shape = shape_of(16, /*causal=*/false);
  shape.longest = 6;
  const PlainOps plain;
  for (const BlockOptions& options : {t5, random_table}) {
    const RandomHeads random(options, shape);
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
    const BlockOptions options{.score = score, .positions = PositionKind::t5};
    AttentionShape shape = shape_of(16, /*causal=*/false);
    const RandomHeads random(options, shape);
    const Op op = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      Pass pass = Pass::inference();
      return {random.heads.within({in[0]}, kSentences, {}, kSentences, 0, pass)};
    };
    // The fast path rounds the mapped queries of general: larger energies would show that in bf16.
    const double size = score == ScoreKind::general ? 0.3 : 1;
    expect_fast_equals_plain(op, {size * randn({kTokens, 144})}, type(), std::string(name_of(score)),
                             random.parameters());

    const at::NoGradGuard no_grad;
    shape.place = AttentionPlace::cross;
    const RandomHeads cross(options, shape);
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
