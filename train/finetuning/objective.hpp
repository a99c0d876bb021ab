// The loss of a task's head on its encoder.
#pragma once

#include <torch/types.h>

#include <utility>
#include <vector>

#include "data/batch/labelled_batch.hpp"
#include "models/text/text_model.hpp"
#include "train/objective.hpp"

namespace attend {

class HeadObjective : public Objective<LabelledBatch> {
 public:
  // Errors are weighted by their label's weight if `label_weights_L` is defined.
  HeadObjective(TextModel model, torch::Tensor label_weights_L)
      : model_(std::move(model)), label_weights_L_(std::move(label_weights_L)) {}

  std::vector<LossTerm> terms(const LabelledBatch& batch) const override {
    return {{.name = "loss", .weight = 1, .count = model_->head().count(batch)}};
  }

  std::vector<LossSum> losses(const LabelledBatch& batch, Pass& pass) const override {
    const torch::Tensor loss = model_->head().loss(model_->logits(batch, pass), batch, label_weights_L_);
    return {{.loss = loss, .reported = loss.detach()}};
  }

 private:
  TextModel model_;
  torch::Tensor label_weights_L_;
};

}  // namespace attend
