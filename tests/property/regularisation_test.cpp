// What changes training alone.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/pass.hpp"
#include "models/transformer/block.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/device.hpp"
#include "tests/support/families.hpp"
#include "tests/support/model_properties.hpp"
#include "tests/support/sentences.hpp"
#include "train/translation/config.hpp"
#include "train/translation/objective.hpp"

namespace attend {
namespace {

// Options against overfitting, which change only training: R-Drop and word dropout, beside independent formulations.

using torch::Tensor;

Tensor hidden_of(const Seq2SeqImpl& model, Pass pass) {
  const at::NoGradGuard no_grad;
  return model.forward(some_batch(), pass);
}

// A model and the same with another option, of the same weights.
void expect_changes_training_alone(const ModelConfig& usual, const ModelConfig& changed) {
  const Seq2Seq one = with_weights_of_seed_7(usual), other = with_weights_of_seed_7(changed);
  EXPECT_TRUE(at::equal(hidden_of(*one, Pass::inference()), hidden_of(*other, Pass::inference())));
  EXPECT_FALSE(at::equal(hidden_of(*one, Pass::train(3)), hidden_of(*other, Pass::train(3))));
}

TEST(WordDropout, TakesTheWholeRowOfATokenAndLeavesItsPosition) {
  const at::NoGradGuard no_grad;
  Embedding table(EmbeddingConfig{.vocabulary = kVocabulary, .width = 7});
  RandomStream random(3);
  table->initialise(random);
  table->to(test_device());
  const Sequences words = sequences_of(random_sentences({400, 1, 399}, 1));
  const Tensor positions_TH = sinusoids(0, 400, 7).to(test_device());
  constexpr double kRate = 0.3;
  Pass pass = Pass::train(3);
  const Tensor x_MH = table->forward(words, /*scale=*/2, positions_TH, {}, pass.optional_dropout(kRate));
  const Tensor rest_MH = x_MH - positions_TH.index_select(0, words.layout.on(test_device()).places_M);
  const Tensor kept_M1 = rest_MH.abs().amax(1, /*keepdim=*/true).gt(1e-5).to(at::kFloat);
  const Tensor scaled_MH = table->weight.master().index_select(0, words.ids_M) * (2 / (1 - kRate));
  EXPECT_LE((rest_MH - scaled_MH * kept_M1).abs().max().item<double>(), 1e-5);
  EXPECT_NEAR(kept_M1.mean().item<double>(), 1 - kRate, 4 * std::sqrt(kRate * (1 - kRate) / 800));
}

TEST(WordDropout, ChangesTheTrainingOfEveryFamily) {
  for (const Family& family : families(/*dropout=*/0)) {
    SCOPED_TRACE(family.name);
    ModelConfig dropping = family.config;
    dropping.word_dropout = 0.4;
    expect_changes_training_alone(family.config, dropping);
  }
}

// The number of rows of a table that a training pass reads: those with a gradient of the hidden states.
std::int64_t rows_read(const ModelConfig& config, const char* table) {
  const Seq2Seq model = with_weights_of_seed_7(config);
  Pass pass = Pass::train(3);
  const Tensor hidden_MH = model->forward(some_batch(), pass);
  at::manual_seed(17);
  (hidden_MH * at::randn(hidden_MH.sizes()).to(test_device())).sum().backward();
  return model->named_parameters()[table].grad().abs().amax(1).gt(0).sum().item<std::int64_t>();
}

TEST(WordDropout, DropsWordsOfBothSides) {
  for (const ModelKind kind : {ModelKind::luong, ModelKind::bahdanau, ModelKind::fixed, ModelKind::transformer}) {
    SCOPED_TRACE(std::string(name_of(kind)));
    ModelConfig usual;
    usual.model = kind;
    usual.encoder_layers = usual.decoder_layers = 1;
    usual.width = 14;
    usual.dropout = 0;
    usual.tie_embeddings = false;
    ModelConfig dropping = usual;
    dropping.word_dropout = 0.5;
    for (const char* table : {"src_embedding.weight", "tgt_embedding.weight"}) {
      EXPECT_LT(rows_read(dropping, table), rows_read(usual, table)) << table;
      EXPECT_GT(rows_read(dropping, table), 0) << table;
    }
  }
}

// Σ weight * loss over the terms of a training pass.
Tensor total_loss(const TranslationObjective& objective, const Batch& batch, std::uint64_t key) {
  Pass pass = Pass::train(key);
  const std::vector<LossTerm> terms = objective.terms(batch);
  const std::vector<LossSum> sums = objective.losses(batch, pass);
  EXPECT_EQ(terms.size(), sums.size());
  Tensor total = at::zeros({}).to(test_device());
  for (std::size_t t = 0; t < sums.size(); ++t) total = total + sums[t].loss * terms[t].weight;
  return total;
}

// The same in fp64 from whole distributions, of a batch that has every sentence twice.
Tensor r_drop_loss(const Seq2SeqImpl& model, double alpha, double smoothing, std::uint64_t key) {
  const auto twice = [](std::vector<std::vector<std::int64_t>> sentences) {
    const auto once = sentences;
    sentences.insert(sentences.end(), once.begin(), once.end());
    return sentences;
  };
  const Batch batch =
      make_batch(twice(random_sentences(kSourceLengths, 1)), twice(random_sentences(kTargetLengths, 2)));
  Pass pass = Pass::train(key);
  const Tensor hidden_MH = model.forward(batch, pass).to(at::kDouble);
  Tensor logits_MV = at::linear(hidden_MH, model.output_table().master().to(at::kDouble));
  if (const Tensor bias_V = model.output_bias(); bias_V.defined()) logits_MV = logits_MV + bias_V;
  const Tensor cross_entropies =
      at::cross_entropy_loss(logits_MV, batch.labels_M, {}, at::Reduction::Sum, /*ignore_index=*/-100, smoothing);
  const std::vector<Tensor> log_p = at::log_softmax(logits_MV, 1).chunk(2);
  const auto kl = [](const Tensor& log_a, const Tensor& log_b) { return (log_a.exp() * (log_a - log_b)).sum(); };
  return cross_entropies + alpha / 2 * (kl(log_p[0], log_p[1]) + kl(log_p[1], log_p[0]));
}

std::vector<Tensor> gradients_after(const Seq2SeqImpl& model, const Tensor& loss) {
  for (const Tensor& parameter : model.parameters()) parameter.mutable_grad() = Tensor();
  loss.backward();
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : model.parameters()) {
    gradients.push_back(parameter.grad().defined() ? parameter.grad().to(at::kDouble)
                                                   : at::zeros_like(parameter, at::kDouble));
  }
  return gradients;
}

TEST(RDrop, IsTheLossOfTwoPassesInEveryFamily) {
  constexpr double kAlpha = 2.5, kSmoothing = 0.1;
  for (const Family& family : families(/*dropout=*/0.2)) {
    SCOPED_TRACE(family.name);
    const Seq2Seq model = with_weights_of_seed_7(family.config);
    const TranslationObjective objective(model, {.label_smoothing = kSmoothing, .r_drop = kAlpha}, /*samples=*/false);
    const Tensor found = total_loss(objective, some_batch(), 3);
    const std::vector<Tensor> gradients = gradients_after(*model, found);
    const Tensor expected = r_drop_loss(*model, kAlpha, kSmoothing, 3);
    const std::vector<Tensor> expected_gradients = gradients_after(*model, expected);
    EXPECT_GT((expected - r_drop_loss(*model, 0, kSmoothing, 3)).item<double>(), 1e-3);
    EXPECT_NEAR(found.item<double>(), expected.item<double>(), 1e-4 * expected.item<double>());
    double largest = 0;
    for (const Tensor& gradient : expected_gradients) largest = std::max(largest, gradient.norm().item<double>());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const double norm = expected_gradients[i].norm().item<double>();
      EXPECT_LE((gradients[i] - expected_gradients[i]).norm().item<double>(), 1e-4 * std::max(norm, 0.02 * largest))
          << model->named_parameters().keys()[i];
    }
  }
}

TEST(RDrop, OfEqualPassesIsTwiceTheLoss) {
  for (const Family& family : {families(0).front(), families(0)[2]}) {
    const at::NoGradGuard no_grad;
    const Seq2Seq model = with_weights_of_seed_7(family.config);
    const auto sums = [&](double alpha) {
      Pass pass = Pass::train(3);
      return TranslationObjective(model, {.r_drop = alpha}, /*samples=*/false).losses(some_batch(), pass);
    };
    const std::vector<LossSum> once = sums(0), both = sums(5);
    ASSERT_EQ(once.size(), 1U);
    ASSERT_EQ(both.size(), 2U);
    const double loss = once[0].loss.item<double>(), nll = once[0].reported.item<double>();
    EXPECT_NEAR(both[0].loss.item<double>(), 2 * loss, 1e-4 * loss);
    EXPECT_NEAR(both[0].reported.item<double>(), nll, 1e-4 * nll);
    EXPECT_NEAR(both[1].loss.item<double>(), 0, 1e-6);
  }
}

// As the loss, so that λ is the gain by which a head stays open.
TEST(RDrop, DoublesThePenaltyOfOpenGates) {
  const at::NoGradGuard no_grad;
  ModelConfig config = families(0).front().config;
  config.prune_heads = 0.1;
  const Seq2Seq model = with_weights_of_seed_7(config);
  const auto penalty = [&](double alpha) {
    Pass pass = Pass::train(3);
    const TranslationObjective objective(model, {.r_drop = alpha}, /*samples=*/false, {}, {}, /*gate_penalty=*/0.1);
    return objective.losses(some_batch(), pass).back();
  };
  const LossSum once = penalty(0), both = penalty(5);
  EXPECT_GT(once.loss.item<float>(), 1);
  EXPECT_EQ(both.loss.item<float>(), 2 * once.loss.item<float>());
  EXPECT_EQ(both.reported.item<float>(), once.reported.item<float>());
}

TEST(RDrop, IsOffInValidation) {
  const at::NoGradGuard no_grad;
  const Seq2Seq model = with_weights_of_seed_7(families(/*dropout=*/0.2)[0].config);
  const auto reported = [&](double alpha) {
    Pass pass = Pass::inference();
    const auto sums = TranslationObjective(model, {.r_drop = alpha}, /*samples=*/false).losses(some_batch(), pass);
    EXPECT_EQ(sums.size(), 1U);
    return sums[0].reported.item<double>();
  };
  EXPECT_EQ(reported(5), reported(0));
}

TEST(RDrop, GoesWithHardAttention) {
  ModelConfig config;
  config.model = ModelKind::bahdanau;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 14;
  config.dropout = 0.2;
  config.attention = ChoiceKind::hard;
  const TranslationObjective objective(with_weights_of_seed_7(config), {.r_drop = 5}, /*samples=*/true);
  const std::vector<LossTerm> terms = objective.terms(some_batch());
  ASSERT_EQ(terms.size(), 3U);
  EXPECT_EQ(terms[1].name, "r_drop");
  EXPECT_EQ(terms[2].name, "reinforce");
  EXPECT_TRUE(total_loss(objective, some_batch(), 3).isfinite().item<bool>());
}

// Dropout masks are independent: for successive keys of a training (places of a pass, batches of an update, updates,
// seeds), and between the rows and columns of one mask.

constexpr std::int64_t kMasks = 192, kPlaces = 16384;
constexpr double kRate = 0.3;

// [n, kPlaces], each mask with mean 0 and variance 1.
torch::Tensor standardised(const torch::Tensor& dropped) { return (dropped - kRate) / std::sqrt(kRate * (1 - kRate)); }

torch::Tensor mask_of(ops::Dropout dropout, std::int64_t size) {
  return ops::dropout(at::ones({size}), dropout).eq(0).to(at::kFloat);
}

// Of independent masks sqrt(n) r, for every two of them, is standard normal. Its square has mean 1 over the 18,336
// pairs with a standard deviation of sqrt(2 / 18336) = 0.0104, and the chance that any is beyond 6 is 1 in 27,000.
void expect_independent(const torch::Tensor& masks, const std::string& what) {
  const torch::Tensor z = standardised(masks);
  EXPECT_NEAR(z.mean().item<double>(), 0, 5 / std::sqrt(static_cast<double>(z.numel()))) << what;
  // Beside each other, and one shifted against the other.
  for (const std::int64_t shift : {0, 1, 2, 64}) {
    const std::int64_t length = z.size(1) - shift;
    const torch::Tensor r =
        z.narrow(1, 0, length).matmul(z.narrow(1, shift, length).t()) / std::sqrt(static_cast<double>(length));
    const torch::Tensor pairs = r.masked_select(at::ones_like(r).triu(1).to(at::kBool));
    EXPECT_NEAR(pairs.square().mean().item<double>(), 1, 0.055) << what << ", shifted by " << shift;
    EXPECT_LT(pairs.abs().max().item<double>(), 6) << what << ", shifted by " << shift;
    if (shift > 0) {
      EXPECT_LT(r.diagonal().abs().max().item<double>(), 6) << what << ", itself shifted by " << shift;
    }
  }
}

TEST(DropoutMasks, OfNeighbouringKeysAreIndependent) {
  const auto masks = [](const std::function<ops::Dropout(std::int64_t)>& dropout) {
    std::vector<torch::Tensor> rows;
    for (std::int64_t i = 0; i < kMasks; ++i) rows.push_back(mask_of(dropout(i), kPlaces));
    return at::stack(rows);
  };
  Pass pass = Pass::train(1);
  expect_independent(masks([&](std::int64_t) { return pass.dropout(kRate); }), "places of a pass");
  const auto first_place = [](std::uint64_t key) {
    Pass first = Pass::train(key);
    return first.dropout(kRate);
  };
  expect_independent(masks([&](std::int64_t i) { return first_place(combine_keys(1, i, 0)); }), "updates");
  expect_independent(masks([&](std::int64_t i) { return first_place(combine_keys(1, 5, i)); }), "batches of an update");
  expect_independent(masks([&](std::int64_t i) { return first_place(combine_keys(i, 5, 0)); }), "seeds");
}

// Keys that are not hashed, as those of a pass are, give masks that are not: this test would see it.
TEST(DropoutMasks, OfKeysThatDifferInTheirHighBitsAloneAreNot) {
  const torch::Tensor one = standardised(mask_of({.rate = kRate, .key = 5}, kPlaces));
  const torch::Tensor other = standardised(mask_of({.rate = kRate, .key = 5 + (1ULL << 32)}, kPlaces));
  EXPECT_GT(std::abs(one.dot(other).item<double>()) / std::sqrt(static_cast<double>(kPlaces)), 20);
}

TEST(DropoutMasks, OfRowsAndColumnsAreIndependent) {
  Pass pass = Pass::train(2);
  const torch::Tensor mask = mask_of(pass.dropout(kRate), kMasks * kPlaces);
  expect_independent(mask.view({kMasks, kPlaces}), "rows");
  expect_independent(mask.view({kPlaces, kMasks}).t(), "columns");
}

}  // namespace
}  // namespace attend
