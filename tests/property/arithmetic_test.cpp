// In every family, head and query, the arithmetic that follows from the operands of a forward pass leads to its weights
// and to its context. Recording operands changes no hidden state.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "analysis/attention_arithmetic.hpp"
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

Tensor tensor_of(const std::vector<double>& numbers) { return at::tensor(numbers, at::kDouble); }

// softmax(energies + bias) in fp64.
Tensor softmax_of(const QueryArithmetic& steps) {
  Tensor energies_S = tensor_of(steps.energies);
  if (!steps.bias.empty()) energies_S = energies_S + tensor_of(steps.bias);
  for (std::size_t s = 0; s < steps.outside.size(); ++s) {
    if (steps.outside[s]) energies_S[static_cast<std::int64_t>(s)] = std::numeric_limits<double>::lowest();
  }
  return at::softmax(energies_S, 0);
}

// `b`: number of the sentence in the batch.
SentenceAttention sentence_of(const AttentionRecorder& recorder, const Layout& source, const Layout& target,
                              std::int64_t b) {
  return {.source = std::vector<std::string>(static_cast<std::size_t>(source.length(b))),
          .target = std::vector<std::string>(static_cast<std::size_t>(target.length(b))),
          .layers = recorder.of_sentence(b, source, target)};
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

  // Weights are cut only in attention to the source.
  void expect_arithmetic_of_the_pass(double threshold) const {
    const at::NoGradGuard no_grad;
    AttentionRecorder recorder({}, /*operands=*/true);
    forward(recorder, threshold);
    ASSERT_FALSE(recorder.layers.empty());
    for (std::int64_t b = 0; b < batch_.tgt.layout.size(); ++b) {
      const SentenceAttention sentence = sentence_of(recorder, batch_.src.layout, batch_.tgt.layout, b);
      for (std::size_t i = 0; i < sentence.layers.size(); ++i) {
        const LayerAttention &layer = sentence.layers[i], &of_batch = recorder.layers[i];
        const Tensor contexts_BNTD = of_batch.operands->scope->context(
            of_batch.weights.to(test_device()), of_batch.operands->values_BNSW, of_batch.operands->places);
        for (std::int64_t head = 0; head < layer.weights.size(0); ++head) {
          for (std::int64_t t = 0; t < layer.weights.size(1); ++t) {
            SCOPED_TRACE(std::string(name_of(layer.place)) + " layer " + std::to_string(layer.layer) + " sentence " +
                         std::to_string(b) + " query " + std::to_string(t));
            const QueryArithmetic steps = arithmetic_of(
                sentence, {.place = layer.place, .layer = layer.layer, .head = head, .query = t}, /*number=*/1);
            expect_close(tensor_of(steps.softmax), softmax_of(steps), 2e-5, "softmax");
            Tensor weights_S = tensor_of(steps.softmax);
            if (!steps.factor.empty()) weights_S = weights_S * tensor_of(steps.factor);
            if (layer.place == AttentionPlace::cross) weights_S = cut_weights(weights_S, threshold);
            const Tensor seen_S = layer.weights[head][t].to(at::kDouble);
            expect_close(weights_S, seen_S, 1e-4, "weights");  // one query's products are rounded otherwise
            EXPECT_TRUE(at::equal(tensor_of(steps.weights), seen_S));
            const double norm = of_batch.operands->takes_largest
                                    ? steps.value_norms[static_cast<std::size_t>(seen_S.argmax().item<std::int64_t>())]
                                    : contexts_BNTD[b][head][t].norm().item<double>();
            EXPECT_NEAR(steps.vector_norm, norm, 1e-4 * std::max(1.0, norm));
          }
        }
      }
    }
  }

  Seq2Seq model_ = with_weights_of_seed_7(GetParam().config);
  Batch batch_ = some_batch();
};

TEST_P(Arithmetic, LeadsFromOperandsToTheWeightsAndTheContext) { expect_arithmetic_of_the_pass(/*threshold=*/0); }

TEST_P(Arithmetic, LeadsToTheWeightsBeforeTheyAreCut) { expect_arithmetic_of_the_pass(/*threshold=*/0.25); }

TEST_P(Arithmetic, IsRecordedWithoutAChange) {
  const at::NoGradGuard no_grad;
  AttentionRecorder weights, operands({}, /*operands=*/true);
  EXPECT_TRUE(at::equal(forward(operands), forward(weights)));
  ASSERT_EQ(operands.layers.size(), weights.layers.size());
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    EXPECT_TRUE(at::equal(operands.layers[i].weights, weights.layers[i].weights));
    EXPECT_FALSE(weights.layers[i].operands.has_value());
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
  AttentionRecorder recorder({}, /*operands=*/true);
  Pass pass = Pass::inference(&recorder);
  const Heads attention(BlockOptions{}, {.place = AttentionPlace::cross, .width = width, .heads = heads});
  const Tensor output_MH = attention.within({q_MH, at::cat({k_MH, v_MH}, 1)}, queries, {}, keys, 0, pass).cpu();
  for (std::int64_t b = 0; b < queries.size(); ++b) {
    const auto of_sentence = [&](const Tensor& x_MH, const Layout& layout) {
      return x_MH.cpu().narrow(0, layout.offsets[b], layout.length(b)).unflatten(1, {heads, -1}).transpose(0, 1);
    };
    const Tensor q_NTD = of_sentence(q_MH, queries), k_NSD = of_sentence(k_MH, keys), v_NSD = of_sentence(v_MH, keys);
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t t = 0; t < queries.length(b); ++t) {
        const QueryArithmetic steps =
            arithmetic_of(sentence_of(recorder, keys, queries, b), {.head = head, .query = t}, /*number=*/1);
        ASSERT_TRUE(steps.scale.has_value());
        expect_close(tensor_of(steps.products), at::mv(k_NSD[head], q_NTD[head][t]).to(at::kDouble), 1e-4, "products");
        expect_close(tensor_of(steps.value_norms), v_NSD[head].norm(2, -1).to(at::kDouble), 1e-6, "values");
        const double norm = of_sentence(output_MH, queries)[head][t].norm().item<double>();
        EXPECT_NEAR(steps.vector_norm, norm, 1e-5 * std::max(1.0, norm));
      }
    }
  }
}

}  // namespace
}  // namespace attend
