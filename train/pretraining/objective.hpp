// The objectives of pretraining: of BERT, and of language models.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/bert/bert.hpp"
#include "models/language/language_model.hpp"
#include "train/task.hpp"
#include "train/watch.hpp"

namespace attend {

// The two objectives of BERT (arXiv 1810.04805, section 3.1), prediction of masked tokens and of the relation of two
// parts of a sequence; or that of XLNet (1906.08237, section 2.3, partial prediction), prediction of the last tokens of
// an order.
class PretrainingObjective : public Objective<PretrainingBatch> {
 public:
  explicit PretrainingObjective(BertForPretraining model) : model_(std::move(model)) {}

  std::vector<LossTerm> terms(const PretrainingBatch& batch) const override {
    std::vector<LossTerm> terms = {
        {.name = "loss", .weight = 1, .count = batch.labels_K.size(0), .has_perplexity = true}};
    if (batch.relations_B.defined()) {
      terms.push_back({.name = "sequence_loss", .weight = 1, .count = batch.relations_B.size(0)});
    }
    return terms;
  }

  std::vector<LossSum> losses(const PretrainingBatch& batch, Pass& pass) const override {
    const auto [masked, sequence] = model_->forward(batch, pass);
    std::vector<LossSum> sums = {{.loss = masked.loss, .reported = masked.nll()}};
    if (batch.relations_B.defined()) sums.push_back({.loss = sequence.loss, .reported = sequence.nll()});
    return sums;
  }

  // Observes the hidden states of all tokens in the last layer, too.
  void show(const PretrainingBatch& batch, Watch& watch) const override {
    const Sequences first = first_sentences(batch.input.tokens, num_watched(batch.input.tokens.layout));
    Pass pass = watch.pass(first.layout);
    model_->bert->forward({first, batch.input.segments_M.narrow(0, 0, first.layout.num_tokens())}, pass);
  }

 private:
  BertForPretraining model_;
};

// The masked tokens of a hybrid model's batch, predicted from the states before them.
ops::CrossEntropy predict_masked(const LanguageModelImpl& model, const PretrainingBatch& batch, Pass& pass);

// The objective of a language model: the cross-entropy of each token, given those before it.
//
// A model that carries state from one segment of a text to the next (truncated backpropagation through time) starts
// from the state after the previous batch of the same lane (data/batch/sources.hpp). An update that is abandoned
// leaves the carried state unchanged.
//
// A hybrid model (models/language/families.cpp) also predicts masked tokens. The loss is then the mean over all
// sequences of the mean over the tokens that are predicted in each kind of them, so that a share of sequences is a
// share of the loss, although those read from left to right have many more predictions.
class LanguageObjective : public Objective<LanguageBatch> {
 public:
  // For a model that carries state: batches of `lanes` lanes, each of `rows` segments. Otherwise `lanes` is 0.
  LanguageObjective(LanguageModel model, std::int64_t lanes, std::int64_t rows, torch::Device device);

  std::vector<LossTerm> terms(const LanguageBatch& batch) const override {
    const bool hybrid = model_->is_hybrid();
    return {{.name = "loss",
             .weight = 1,
             .count = hybrid ? std::ssize(batch.lines) : batch.labels_M.size(0),
             .has_perplexity = !hybrid}};
  }
  std::vector<LossSum> losses(const LanguageBatch& batch, Pass& pass) const override;
  void show(const LanguageBatch& batch, Watch& watch) const override;

  // The carried state, one tensor for each lane and part: "carried.LANE.PART".
  NamedTensors state() const override;
  void update_made(std::span<const double> means) override;

 private:
  LossSum hybrid_loss(const LanguageBatch& batch, Pass& pass) const;

  LanguageModel model_;
  std::vector<std::vector<torch::Tensor>> carried_;        // parts of each lane, fp32
  mutable std::vector<std::vector<torch::Tensor>> after_;  // the same after this update
};

}  // namespace attend
