// Parameters: initial values, and the sum of their gradients.
#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "models/layers/initialise.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/several_ranks.hpp"
#include "train/distributed/gradient_sum.hpp"

namespace attend {
namespace {

// Initial weights by rule: their variances, which matrices they reach, and that a seed gives the same ones.

using Parameters = std::map<std::string, torch::Tensor>;

ModelConfig luong(InitialiserConfig initial) {
  ModelConfig config;
  config.model = ModelKind::luong;
  config.encoder_layers = 2;
  config.decoder_layers = 1;
  config.width = 48;
  config.dropout = 0;
  config.initial = initial;
  return config;
}

ModelConfig transformer(InitialiserConfig initial) {
  ModelConfig config;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 48;
  config.block.heads = 3;
  config.block.feed_forward = 80;
  config.dropout = 0;
  config.initial = initial;
  return config;
}

Parameters parameters(const ModelConfig& config, std::uint64_t seed = 1) {
  const NamedTensors named = parameters_of(*make_seq2seq(config, {.src = 60, .tgt = 60}, seed));
  return {named.begin(), named.end()};
}

double variance(const torch::Tensor& tensor) { return tensor.square().mean().item<double>(); }

// Thousands of numbers: their variance is within 8 per cent of that of the rule, and their mean within 4 deviations of
// the mean of so many.
void expect_variance(const torch::Tensor& tensor, double expected, const std::string& name) {
  EXPECT_NEAR(variance(tensor) / expected, 1, 0.08) << name;
  EXPECT_LE(std::abs(tensor.mean().item<double>()), 4 * std::sqrt(expected / static_cast<double>(tensor.numel())))
      << name;
}

TEST(Initialise, VariancesFollowTheInputsAndOutputsOfEachGate) {
  // Columns, and rows of one gate or projection.
  const std::map<std::string, std::pair<int, int>> recurrent = {
      {"encoder.weight_ih_l0", {48, 48}},  {"encoder.weight_ih_l1_reverse", {96, 48}},
      {"encoder.weight_hh_l1", {48, 48}},  {"decoder.weight_ih_l0", {96, 48}},
      {"bridge_cell_l0.weight", {96, 48}}, {"combine.weight", {144, 48}}};
  const std::map<std::string, std::pair<int, int>> attentive = {
      {"encoder.layers.0.self_attn.in_proj.weight", {48, 48}},
      {"decoder.layers.0.multihead_attn.kv_proj.weight", {48, 48}},
      {"decoder.layers.0.linear1.weight", {48, 80}},
      {"decoder.layers.0.linear2.weight", {80, 48}}};
  for (const Initialiser rule :
       {Initialiser::xavier_uniform, Initialiser::xavier_normal, Initialiser::kaiming_uniform, Initialiser::uniform}) {
    const Parameters rnn = parameters(luong({.matrices = rule})), self = parameters(transformer({.matrices = rule}));
    const auto check = [&](const Parameters& found, const std::map<std::string, std::pair<int, int>>& fans) {
      for (const auto& [name, fan] : fans) {
        const auto [in, out] = fan;
        const double expected = rule == Initialiser::kaiming_uniform ? 2.0 / in
                                : rule == Initialiser::uniform       ? 0.1 * 0.1 / 3
                                                                     : 2.0 / (in + out);
        const std::string what = std::string(name_of(rule)) + " " + name;
        expect_variance(found.at(name), expected, what);
        const double largest = found.at(name).abs().max().item<double>(), bound = std::sqrt(3 * expected);
        if (rule == Initialiser::xavier_normal) {
          EXPECT_GT(largest, bound) << what;
        } else {
          EXPECT_LE(largest, bound) << what;
        }
      }
    };
    check(rnn, recurrent);
    check(self, attentive);
  }
}

// A normal distribution that is cut at two standard deviations has 0.774 of its variance.
TEST(Initialise, TheDeviationReachesMapsOfScores) {
  ModelConfig config = transformer({});
  config.width = 96;
  config.score = ScoreKind::additive;
  config.initial_deviation = 0.5;
  const Parameters found = parameters(config);
  for (const char* name : {"self_attn.score.key.weight", "self_attn.score.query.weight", "self_attn.out_proj.weight"}) {
    expect_variance(found.at(std::string("encoder.layers.0.") + name), 0.774 * 0.25, name);
  }
  config.initial_deviation = 0;
  expect_variance(parameters(config).at("encoder.layers.0.self_attn.score.key.weight"), 2.0 / (32 + 32), "Xavier");
}

TEST(Initialise, RecurrentMatricesAreOrthogonalForEachGate) {
  const Parameters found = parameters(luong({.recurrent = RecurrentInitialiser::orthogonal}));
  const Parameters before = parameters(luong({}));
  int recurrent = 0;
  for (const auto& [name, tensor] : found) {
    if (name.find("weight_hh") == name.npos) {
      EXPECT_TRUE(torch::equal(tensor, before.at(name))) << name;
      continue;
    }
    ++recurrent;
    const std::vector<torch::Tensor> gates = tensor.chunk(4);
    for (const torch::Tensor& gate : gates) {
      EXPECT_LE((gate.matmul(gate.t()) - torch::eye(48)).abs().max().item<double>(), 1e-6) << name;
      EXPECT_LE(std::abs(gate.mean().item<double>()), 4.0 / 48 / std::sqrt(48)) << name;
    }
    EXPECT_GT((gates[0] - gates[1]).abs().max().item<double>(), 0.1) << name;
  }
  EXPECT_EQ(recurrent, 5);
}

TEST(Initialise, BiasesAndNormsStayTheFamilysAndTablesButForUniform) {
  for (const auto& [rule, rule_name] : kEnumNames<Initialiser>) {
    if (rule == Initialiser::of_family) continue;
    const InitialiserConfig initial{.matrices = rule, .recurrent = RecurrentInitialiser::of_others};
    for (const auto& make : {luong, transformer}) {
      const Parameters before = parameters(make({})), after = parameters(make(initial));
      for (const auto& [name, tensor] : after) {
        const bool table = name.find("embedding") != name.npos;
        const bool kept = tensor.dim() < 2 || (table && rule != Initialiser::uniform);
        EXPECT_EQ(torch::equal(tensor, before.at(name)), kept) << rule_name << " " << name;
        if (table && !kept) expect_variance(tensor, 0.1 * 0.1 / 3, name);
      }
    }
  }
}

// Learnt positions within self-attention: W_kR of Transformer-XL is a matrix for each head, the vectors of distances
// and the energies of positions are tables, and T5's biases by distance stay what they are.
TEST(Initialise, PositionsInAttentionFollowTheirRole) {
  const auto with = [](PositionKind positions, SelfAttentionKind kind, Initialiser rule) {
    ModelConfig config = transformer({.matrices = rule});
    config.block.positions = positions;
    config.block.self_attention = kind;
    if (has_tables(config)) config.max_positions = 20;
    return parameters(config);
  };
  struct Case {
    PositionKind positions;
    SelfAttentionKind kind;
    std::string name;
    bool is_bias = false;
  };
  using enum PositionKind;
  using enum SelfAttentionKind;
  for (const auto& [positions, kind, name, is_bias] :
       {Case{t5, attention, "scope.table", true}, Case{transformer_xl, attention, "scope.bias", true},
        Case{relative, attention, "scope.keys"}, Case{none, random, "score.energy"}}) {
    const auto start = [&](Initialiser rule) {
      return with(positions, kind, rule).at("encoder.layers.0.self_attn." + name);
    };
    const torch::Tensor usual = start(Initialiser::of_family);
    EXPECT_TRUE(torch::equal(start(Initialiser::kaiming_uniform), usual)) << name;
    EXPECT_EQ(torch::equal(start(Initialiser::uniform), usual), is_bias) << name;
  }
  const auto found = with(transformer_xl, attention, Initialiser::kaiming_uniform);
  expect_variance(found.at("encoder.layers.0.self_attn.scope.positions"), 2.0 / 48, "W_kR");
}

TEST(Initialise, TheSameSeedGivesTheSameWeightsAndAnotherOthers) {
  const ModelConfig config =
      luong({.matrices = Initialiser::xavier_normal, .recurrent = RecurrentInitialiser::orthogonal});
  const Parameters one = parameters(config, 3), same = parameters(config, 3), other = parameters(config, 4);
  for (const auto& [name, tensor] : one) {
    EXPECT_TRUE(torch::equal(tensor, same.at(name))) << name;
    EXPECT_EQ(torch::equal(tensor, other.at(name)), tensor.dim() < 2) << name;
  }
}

// The working copies that matrix products read are of the new weights, and a single thread draws the same bits.
TEST(Initialise, RefreshesWorkingCopies) {
  const auto model = make_seq2seq(luong({}), {.src = 60, .tgt = 60}, 1);
  visit_weights(*model, [](ops::Weight& weight) { weight.set_precision(Precision::bf16); });
  initialise(*model, {.matrices = Initialiser::uniform}, 9);
  visit_weights(*model, [](ops::Weight& weight) {
    EXPECT_TRUE(torch::equal(weight.working(), weight.master().to(torch::kBFloat16)));
  });
}

// Gradients of several processes: their sum, wherever each has some.

// Weights of odd sizes, of several buckets, and some that not all ranks use.
class Uneven : public torch::nn::Module {
 public:
  Uneven() {
    at::manual_seed(8);
    const auto add = [&](const char* name, torch::IntArrayRef shape) {
      return register_parameter(name, at::randn(shape));
    };
    first = add("first", {13});
    large = add("large", {2100, 1001});    // more than a bucket
    middle = add("middle", {3, 100'001});  // more than the first bucket
    of_one = add("of_one", {7});
    of_another = add("of_another", {2, 3});
    of_none = add("of_none", {5});
    fixed = add("fixed", {4});
    fixed.set_requires_grad(false);
    both = add("both", {37});
  }

  // Of a batch, whose gradients differ from those of other batches.
  torch::Tensor loss(int rank, int batch) const {
    at::manual_seed(static_cast<std::uint64_t>(100 * rank + batch));
    torch::Tensor sum = (both * at::randn({37})).sum() * fixed.sum();
    for (const torch::Tensor& shared : {first, large, middle}) sum = sum + (shared * at::randn_like(shared)).sum();
    return sum + (rank == 0 ? of_one * of_one * (batch + 1) : of_another * of_another * (batch + 3)).sum();
  }

  torch::Tensor first, large, middle, of_one, of_another, of_none, fixed, both;
};

using Gradients = std::vector<torch::Tensor>;

Gradients gradients_of(const Uneven& model) {
  Gradients gradients;
  for (const torch::Tensor& parameter : model.parameters()) {
    gradients.push_back(parameter.grad().defined() ? parameter.grad().clone() : torch::Tensor());
  }
  return gradients;
}

void forget(const Uneven& model) {
  for (torch::Tensor& parameter : model.parameters()) parameter.mutable_grad().reset();
}

// One rank's own gradient of its first batches.
Gradients of_rank(int rank, int batches) {
  const Uneven model;
  for (int batch = 0; batch < batches; ++batch) model.loss(rank, batch).backward();
  return gradients_of(model);
}

// Two summands have one sum, in whatever order.
Gradients sum_of(const Gradients& left, const Gradients& right) {
  Gradients sums;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i].defined() || !right[i].defined()) {
      sums.push_back(left[i].defined() ? left[i] : right[i]);
    } else {
      sums.push_back(left[i] + right[i]);
    }
  }
  return sums;
}

void expect_same_bits(const Uneven& model, const Gradients& expected, const std::string& when) {
  const Gradients found = gradients_of(model);
  const auto named = model.named_parameters();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string& name = named[i].key();
    ASSERT_EQ(found[i].defined(), expected[i].defined()) << name << ", " << when;
    EXPECT_TRUE(!found[i].defined() || at::equal(found[i], expected[i])) << name << ", " << when;
  }
}

TEST_F(SeveralRanks, SumTheirGradients) {
  in_ranks(2, [](Ranks& ranks) {
    const Uneven model;
    GradientSum gradients(model, ranks);
    const auto learn = [&](int batches) {
      forget(model);
      for (int batch = 0; batch < batches; ++batch) {
        if (batch + 1 == batches) gradients.begin();
        model.loss(ranks.rank(), batch).backward();
      }
      gradients.finish();
    };
    const Gradients expected = sum_of(of_rank(0, 1), of_rank(1, 1));
    EXPECT_FALSE(expected[5].defined());  // of_none
    for (int update = 0; update < 3; ++update) {
      learn(1);
      expect_same_bits(model, expected, "update " + std::to_string(update));
    }
    learn(3);
    expect_same_bits(model, sum_of(of_rank(0, 3), of_rank(1, 3)), "three batches in an update");
    // At the end of the last epoch one has fewer batches, or none.
    learn(ranks.first() ? 2 : 1);
    expect_same_bits(model, sum_of(of_rank(0, 2), of_rank(1, 1)), "two batches and one");
    learn(ranks.first() ? 1 : 0);
    expect_same_bits(model, of_rank(0, 1), "one batch and none");
    learn(1);
    expect_same_bits(model, expected, "and again");
  });
}

TEST_F(SeveralRanks, LeaveOtherBackwardPassesAlone) {
  in_ranks(2, [](Ranks& ranks) {
    const Uneven model;
    const Gradients own = of_rank(ranks.rank(), 1);
    {
      GradientSum gradients(model, ranks);
      model.loss(ranks.rank(), 0).backward();  // none that was announced, as in a rehearsal
      expect_same_bits(model, own, "before begin()");
    }
    forget(model);
    model.loss(ranks.rank(), 0).backward();
    expect_same_bits(model, own, "after its end");
  });
}

TEST(GradientSumAlone, DoesNothing) {
  Ranks alone;
  const Uneven model;
  GradientSum gradients(model, alone);
  gradients.begin();
  model.loss(0, 0).backward();
  gradients.finish();
  expect_same_bits(model, of_rank(0, 1), "alone");
}

}  // namespace
}  // namespace attend
