// Label-smoothed cross-entropy of the target under teacher forcing (Szegedy et al. 2016, arXiv 1512.00567).
#pragma once

#include <utility>
#include <vector>

#include "models/translation/seq2seq.hpp"
#include "train/objective.hpp"

namespace attend {

class TranslationObjective : public Objective<Batch> {
 public:
  TranslationObjective(Seq2Seq model, double label_smoothing)
      : model_(std::move(model)), label_smoothing_(label_smoothing) {}

  std::vector<LossTerm> terms(const Batch& batch) const override {
    return {{.name = "loss", .weight = 1, .count = batch.num_labels(), .has_perplexity = true}};
  }

  std::vector<LossSum> losses(const Batch& batch, Pass& pass) override {
    const torch::Tensor hidden_MH = model_->forward(batch, pass);
    const ops::CrossEntropy result =
        ops::cross_entropy(hidden_MH, model_->output_table(), {}, batch.labels_M, label_smoothing_);
    return {{.loss = result.loss, .reported = result.nll()}};
  }

 private:
  Seq2Seq model_;
  double label_smoothing_;
};

}  // namespace attend
