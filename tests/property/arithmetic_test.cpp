// The arithmetic that an observer receives is consistent in every family, head and query: weights are the softmax of
// energies, biases and scope, and the context is the sum of values with these weights. Recording it changes no hidden
// state.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "eval/attention.hpp"
#include "models/attention/edits.hpp"
#include "tests/support/families.hpp"
#include "tests/support/heads.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/model_properties.hpp"
#include "tests/support/sentences.hpp"

namespace attend {
namespace {

using torch::Tensor;

std::vector<Family> attentive_families() {
  std::vector<Family> all = families(/*dropout=*/0.1);
  const auto luong = std::ranges::find(all, std::string("luong"), &Family::name);
  Family hard{.name = "luong_hard", .config = luong->config};
  hard.config.attention = ChoiceKind::hard;
  all.push_back(hard);
  std::erase_if(all, [](const Family& family) { return family.config.model == ModelKind::fixed; });
  return all;
}

// [N, T, S] in fp64, with the axes of one sentence.
Tensor softmax_of(const AttentionArithmetic& told) {
  Tensor energies = told.energies.to(at::kDouble);
  if (told.bias.defined()) energies = energies + told.bias.to(at::kDouble);
  energies = energies.masked_fill(told.outside, std::numeric_limits<double>::lowest());
  return at::softmax(energies, -1).masked_fill(told.outside, 0);
}

void expect_each_from_the_one_before(const LayerAttention& layer) {
  ASSERT_TRUE(layer.arithmetic.has_value());
  const AttentionArithmetic& told = *layer.arithmetic;
  EXPECT_TRUE(at::equal(told.weights, layer.weights));
  expect_close(told.softmax.to(at::kDouble), softmax_of(told), 2e-5, "softmax");
  const Tensor factor = told.factor.defined() ? told.factor : at::ones_like(told.softmax);
  expect_close(told.weights, told.softmax * factor, 1e-6, "weights");
  for (std::int64_t t = 0; t < told.weights.size(1); ++t) {
    const Tensor weights_NS = told.weights.select(1, t), values_NSD = told.values(t).cpu();
    Tensor shares_NS = weights_NS;
    if (told.takes_largest) shares_NS = at::zeros_like(weights_NS).scatter(1, weights_NS.argmax(1, true), 1);
    const Tensor vector_ND = at::matmul(shares_NS.unsqueeze(1), values_NSD).squeeze(1);
    expect_close(told.context.select(1, t), vector_ND, 1e-5, "context");
  }
}

class Arithmetic : public testing::TestWithParam<Family> {
 protected:
  Arithmetic() {
    if (!has_norms(GetParam().config)) return;  // its states would grow with every layer
    // Of random models the weights are nearly equal; larger parameters make them differ.
    const at::NoGradGuard no_grad;
    for (Tensor& parameter : model_->parameters()) parameter.mul_(2);
  }

  Tensor forward(Observer& observer, double threshold = 0) const {
    Pass pass = Pass::inference(&observer);
    const CutWeights cut(threshold);
    pass.edit_attention(cut);
    return model_->forward(batch_, pass);
  }

  Seq2Seq model_ = with_weights_of_seed_7(GetParam().config);
  Batch batch_ = some_batch();
};

TEST_P(Arithmetic, LeadsFromEnergiesToTheContext) {
  const at::NoGradGuard no_grad;
  AttentionRecorder recorder({}, /*arithmetic=*/true);
  forward(recorder);
  ASSERT_FALSE(recorder.layers.empty());
  for (std::int64_t b = 0; b < batch_.tgt.layout.size(); ++b) {
    for (const LayerAttention& layer : recorder.of_sentence(b, batch_.src.layout, batch_.tgt.layout)) {
      SCOPED_TRACE(std::string(name_of(layer.place)) + " layer " + std::to_string(layer.layer) + " sentence " +
                   std::to_string(b));
      expect_each_from_the_one_before(layer);
    }
  }
}

TEST_P(Arithmetic, IsToldWithoutAChange) {
  const at::NoGradGuard no_grad;
  AttentionRecorder weights, arithmetic({}, /*arithmetic=*/true);
  EXPECT_TRUE(at::equal(forward(arithmetic), forward(weights)));
  ASSERT_EQ(arithmetic.layers.size(), weights.layers.size());
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    EXPECT_TRUE(at::equal(arithmetic.layers[i].weights, weights.layers[i].weights));
    EXPECT_FALSE(weights.layers[i].arithmetic.has_value());
  }
}

TEST_P(Arithmetic, HasTheSoftmaxBeforeAThresholdAndTheWeightsAfterIt) {
  const at::NoGradGuard no_grad;
  AttentionRecorder whole(AttentionPlace::cross, /*arithmetic=*/true), cut(AttentionPlace::cross, /*arithmetic=*/true);
  forward(whole);
  forward(cut, 0.25);
  const AttentionArithmetic &before = *whole.layers[0].arithmetic, &after = *cut.layers[0].arithmetic;
  if (GetParam().config.model == ModelKind::transformer) {  // the states of a recurrent decoder depend on its weights
    expect_close(after.softmax, before.softmax, 1e-6, "softmax");
  }
  EXPECT_TRUE(at::equal(after.weights, cut.layers[0].weights));
  EXPECT_FALSE(at::allclose(after.weights, before.weights, 0, 1e-3));
}

// A step of search tells of its query what the whole pass does.
TEST_P(Arithmetic, OfAStepIsThatOfTheWhole) {
  const at::NoGradGuard no_grad;
  AttentionRecorder whole({}, /*arithmetic=*/true);
  forward(whole);
  const std::int64_t b = 3;  // its source and its target are shorter than others
  const std::vector<LayerAttention> expected = whole.of_sentence(b, batch_.src.layout, batch_.tgt.layout);
  const auto of_decoder = [](const LayerAttention& layer) { return layer.place != AttentionPlace::encoder; };
  Pass silent = Pass::inference();
  const auto memory = model_->encode(batch_.src, silent);
  const auto state = model_->start(*memory, std::vector<std::int64_t>{b});
  for (std::int64_t t = 0; t < batch_.tgt.layout.length(b); ++t) {
    AttentionRecorder recorder({}, /*arithmetic=*/true);
    Pass pass = Pass::inference(&recorder);
    model_->step(*memory, *state, batch_.tgt.ids_M.narrow(0, batch_.tgt.layout.offsets[b] + t, 1), pass);
    EXPECT_EQ(std::ssize(recorder.layers), std::ranges::count_if(expected, of_decoder));
    for (const LayerAttention& seen : recorder.layers) {
      const auto found = std::ranges::find_if(expected, [&](const LayerAttention& layer) {
        return layer.place == seen.place && layer.layer == seen.layer;
      });
      ASSERT_NE(found, expected.end());
      const std::int64_t read = seen.place == AttentionPlace::decoder ? t + 1 : batch_.src.layout.length(b);
      const AttentionArithmetic &told = *seen.arithmetic, &same = *found->arithmetic;
      SCOPED_TRACE(std::string(name_of(seen.place)) + " layer " + std::to_string(seen.layer) + " step " +
                   std::to_string(t));
      const auto of_query = [&](const Tensor& x_NTS, std::int64_t query) {
        return x_NTS.select(1, query).narrow(1, 0, read);
      };
      expect_close(of_query(told.energies[0], 0), of_query(same.energies, t), 1e-4, "energies");
      expect_close(of_query(told.weights[0], 0), of_query(same.weights, t), 1e-3, "weights");
      expect_close(told.values(0)[0].cpu().narrow(1, 0, read), same.values(t).cpu().narrow(1, 0, read), 1e-4, "values");
      expect_close(told.context[0].select(1, 0), same.context.select(1, t), 1e-3, "context");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Arithmetic, testing::ValuesIn(attentive_families()),
                         [](const auto& instance) { return instance.param.name; });

// Beside what the heads were given and what they gave.
TEST(ArithmeticOfHeads, StartsFromProductsAndEndsInTheOutput) {
  const at::NoGradGuard no_grad;
  const Layout queries = layout_of({3, 1, 4}), keys = layout_of({5, 2, 3});
  const std::int64_t heads = 3, width = 12;
  const Tensor q_MH = at::randn({8, width}).to(test_device()), k_MH = at::randn({10, width}).to(test_device()),
               v_MH = at::randn({10, width}).to(test_device());
  AttentionRecorder recorder({}, /*arithmetic=*/true);
  Pass pass = Pass::inference(&recorder);
  const Heads attention({.place = AttentionPlace::cross, .width = width, .heads = heads});
  const Tensor output_MH = attention.within({q_MH, at::cat({k_MH, v_MH}, 1)}, queries, {}, keys, 0, pass).cpu();
  for (std::int64_t b = 0; b < queries.size(); ++b) {
    const auto of_sentence = [&](const Tensor& x_MH, const Layout& layout) {
      return x_MH.cpu().narrow(0, layout.offsets[b], layout.length(b)).unflatten(1, {heads, -1}).transpose(0, 1);
    };
    const auto layers = recorder.of_sentence(b, keys, queries);
    ASSERT_EQ(layers.size(), 1);
    const AttentionArithmetic& told = *layers[0].arithmetic;
    ASSERT_TRUE(told.scale.defined());
    const Tensor products = at::matmul(of_sentence(q_MH, queries), of_sentence(k_MH, keys).transpose(1, 2));
    expect_close(told.energies / told.scale.cpu(), products, 1e-4, "products");
    expect_close(told.values(0).cpu(), of_sentence(v_MH, keys), 1e-6, "values");
    expect_close(told.context, of_sentence(output_MH, queries), 1e-5, "output");
  }
}

}  // namespace
}  // namespace attend
