// The two objectives of BERT (arXiv 1810.04805, section 3.1), prediction of masked tokens and of the relation of two
// parts of a sequence; or that of XLNet (1906.08237, section 2.3, partial prediction), prediction of the last tokens of
// an order.
#pragma once

#include <utility>
#include <vector>

#include "models/bert/bert.hpp"
#include "train/objective.hpp"
#include "train/watch.hpp"

namespace attend {

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

}  // namespace attend
