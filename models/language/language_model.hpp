// A language model: the probability of each token of a text, given the tokens before it. A text begins with the end
// token of the one before it, which every model reads first.
//
//   p(x_1 … x_n) = Π p(x_t | </s> x_1 … x_{t-1})
//
// Transformers and recurrent models are language models alike: training reads whole segments of a stream (`forward`),
// generation one token at a time (`start`, `step`). A test demands that the two agree.
//
// Legend: docs/architecture.md; R rows.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/layers/pass.hpp"
#include "models/layers/step_model.hpp"
#include "models/ops/weight.hpp"

namespace attend {

// What a model remembers of the segments of a stream that it has read, so that the next one continues them: tensors
// with a row for each segment, in the model's own order. Empty before the first segment.
struct Carried {
  std::vector<torch::Tensor> parts;
};

class LanguageModelImpl : public torch::nn::Module {
 public:
  // The hidden state of every token, [M, H], from which the next one is predicted. With `carried`, segment b continues
  // row b, which then holds the end of this segment, without a gradient.
  virtual torch::Tensor forward(const Sequences& tokens, Pass& pass, Carried* carried = nullptr) const = 0;

  // The state of R rows that have read nothing; and one more token of each, which gives the logits of the next one,
  // [R, V], fp32.
  virtual std::unique_ptr<DecoderState> start(std::int64_t rows) const = 0;
  virtual torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const = 0;

  // The table [V, H] of the embeddings, whose products with hidden states are the logits; and the bias of these, [V],
  // undefined if there is none.
  virtual const ops::Weight& output_table() const = 0;
  virtual torch::Tensor output_bias() const { return {}; }

  // The most tokens of a text that it reads, the first end token included; nullopt: any number.
  virtual std::optional<std::int64_t> longest() const { return std::nullopt; }

  // The parts of `Carried` for `rows` segments at the beginning of a stream; none if this model carries nothing.
  virtual std::vector<torch::Tensor> beginning(std::int64_t /*rows*/) const { return {}; }

  torch::Device device() const { return parameters().front().device(); }
};
using LanguageModel = std::shared_ptr<LanguageModelImpl>;

// What search continues: `rows` texts of which nothing is read yet.
class TextsToContinue final : public StepModel {
 public:
  TextsToContinue(const LanguageModelImpl& model, std::int64_t rows) : model_(model), rows_(rows) {}

  std::unique_ptr<DecoderState> start() const override { return model_.start(rows_); }
  torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const override {
    return model_.step(state, previous_R, pass);
  }
  torch::Device device() const override { return model_.device(); }

 private:
  const LanguageModelImpl& model_;
  std::int64_t rows_;
};

}  // namespace attend
