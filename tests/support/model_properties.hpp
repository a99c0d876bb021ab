// Properties of every translation model, whatever its options, for tests of families and of combinations.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "models/language/language_model.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/ops/dispatch.hpp"
#include "models/translation/seq2seq.hpp"
#include "tests/support/sentences.hpp"
#include "tests/support/temporary.hpp"

namespace attend {

inline torch::Tensor logits_of(const Seq2SeqImpl& model, const torch::Tensor& hidden_MH) {
  return ops::logits(hidden_MH, model.output_table(), model.output_bias());
}
inline torch::Tensor logits_of(const LanguageModelImpl& model, const torch::Tensor& hidden_MH) {
  return ops::logits(hidden_MH, model.output_table(), {});
}

// Within `tolerance`, times the largest value if that is above 1.
inline void expect_close(const torch::Tensor& a, const torch::Tensor& b, double tolerance = 1e-4,
                         const std::string& what = {}) {
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  if (a.numel() == 0) return;
  EXPECT_LE((a - b).abs().max().item<double>(), tolerance * std::max(1.0, b.abs().max().item<double>())) << what;
}

inline void expect_steps_are_forward(const Seq2SeqImpl& model, const Batch& batch = some_batch()) {
  Pass inference = Pass::inference();
  const at::NoGradGuard no_grad;
  const auto forward = logits_of(model, model.forward(batch, inference));
  const auto memory = model.encode(batch.src, inference);
  for (std::int64_t b = 0; b < batch.tgt.layout.size(); ++b) {
    const std::vector<std::int64_t> sentence = {b};
    const auto state = model.start(*memory, sentence);
    for (std::int64_t t = 0; t < batch.tgt.layout.length(b); ++t) {
      const auto row = batch.tgt.layout.offsets[b] + t;
      const auto logits = model.step(*memory, *state, batch.tgt.ids_M.narrow(0, row, 1), inference);
      expect_close(logits[0], forward[row]);
    }
  }
}

// Whatever the lengths of the other sentences, to which the plain formulations pad.
inline void expect_a_batch_is_its_sentences(const Seq2SeqImpl& model) {
  Pass inference = Pass::inference();
  const at::NoGradGuard no_grad;
  const auto src = random_sentences(kSourceLengths, 1);
  const auto tgt = random_sentences(kTargetLengths, 2);
  const Batch batch = make_batch(src, tgt);
  const auto expect_alike = [&] {
    const auto together = model.forward(batch, inference);
    for (std::size_t b = 0; b < src.size(); ++b) {
      const auto layout = batch.tgt.layout;
      expect_close(together.narrow(0, layout.offsets[b], layout.length(static_cast<std::int64_t>(b))),
                   model.forward(make_batch({src[b]}, {tgt[b]}), inference));
    }
  };
  expect_alike();
  const ops::PlainOps plain;
  expect_alike();
}

inline void expect_every_gradient(const torch::nn::Module& model) {
  for (const auto& parameter : model.named_parameters()) {
    // The bias of keys shifts all energies of a query equally, so its gradient is 0.
    if (parameter.key().ends_with(".k_proj.bias")) continue;
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_EQ(parameter.value().grad().scalar_type(), torch::kFloat32) << parameter.key();
    EXPECT_TRUE(parameter.value().grad().isfinite().all().item<bool>()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().sum().item<double>(), 0) << parameter.key();
  }
}

// The loss of some_batch(), whose gradients replace those in the parameters.
inline torch::Tensor backward(const Seq2SeqImpl& model) {
  for (const auto& parameter : model.parameters()) parameter.mutable_grad() = torch::Tensor();
  const Batch batch = some_batch();
  Pass pass = Pass::train(3);
  const torch::Tensor loss =
      ops::cross_entropy(model.forward(batch, pass), model.output_table(), model.output_bias(), batch.labels_M, 0.1)
          .loss;
  loss.backward();
  return loss.detach();
}

// Steps of rows that are reordered and dropped between them.
inline void expect_plain_ops_give_the_same_steps(const Seq2SeqImpl& model) {
  Pass inference = Pass::inference();
  const at::NoGradGuard no_grad;
  const Batch batch = some_batch();
  const std::vector<std::int64_t> sentences = {4, 0, 2, 0};
  const auto run = [&] {
    const auto memory = model.encode(batch.src, inference);
    const auto state = model.start(*memory, sentences);
    model.step(*memory, *state, tokens({2, 2, 2, 2}), inference);
    state->select(std::vector<std::int64_t>{1, 1, 3});
    return model.step(*memory, *state, tokens({5, 6, 7}), inference);
  };
  const auto fast = run();
  const ops::PlainOps plain;
  expect_close(fast, run());
}

// `loss_of` returns a loss, whose gradients it leaves in the parameters. Fast and plain ops sum in different orders, so
// gradients that cancel are only rounding.
inline void expect_plain_ops_give_the_same_gradients(const torch::nn::Module& model,
                                                     const std::function<torch::Tensor()>& loss_of) {
  const auto run = [&] {
    std::vector<std::pair<std::string, torch::Tensor>> all = {{"loss", loss_of()}};
    for (const auto& parameter : model.named_parameters()) {
      all.emplace_back(parameter.key(), parameter.value().grad().clone());
    }
    return all;
  };
  const auto norm = [](const torch::Tensor& x) { return x.to(torch::kDouble).norm().item<double>(); };
  const auto fast = run();
  const ops::PlainOps plain_ops;
  const auto plain = run();
  double largest = 0;
  for (std::size_t i = 1; i < plain.size(); ++i) largest = std::max(largest, norm(plain[i].second));
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const auto& [name, expected] = plain[i];
    EXPECT_LE(norm(fast[i].second - expected), 1e-4 * std::max(norm(expected), 0.02 * largest)) << name;
  }
}

inline void expect_plain_ops_give_the_same_gradients(const Seq2SeqImpl& model) {
  expect_plain_ops_give_the_same_gradients(model, [&] { return backward(model); });
}

// A file of weights is all that distinguishes a model from `other`, which has the same options.
inline void expect_weights_are_the_model(const Seq2SeqImpl& model, const Seq2SeqImpl& other) {
  const at::NoGradGuard no_grad;
  const Batch batch = some_batch();
  Pass train = Pass::train(3);
  model.forward(batch, train);  // changes running statistics
  const auto run = [&](const Seq2SeqImpl& read) {
    Pass inference = Pass::inference();
    return read.forward(batch, inference);
  };
  EXPECT_FALSE(torch::equal(run(model), run(other)));
  const TemporaryDirectory directory;
  save_tensors(directory / "model.safetensors", weights_of(model));
  load_weights(directory / "model.safetensors", other);
  EXPECT_TRUE(torch::equal(run(model), run(other)));
}

}  // namespace attend
