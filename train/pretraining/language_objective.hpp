// The objective of a language model: the cross-entropy of each token, given those before it.
//
// A model that carries state from one segment of a text to the next (truncated backpropagation through time) starts
// from the state after the previous batch of the same lane (data/batch/causal_data.hpp). An update that is abandoned
// leaves the carried state unchanged.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/language/language_model.hpp"
#include "train/objective.hpp"
#include "train/watch.hpp"

namespace attend {

class LanguageObjective : public Objective<LanguageBatch> {
 public:
  // For a model that carries state: batches of `lanes` lanes, each of `rows` segments. Otherwise `lanes` is 0.
  LanguageObjective(LanguageModel model, std::int64_t lanes, std::int64_t rows, torch::Device device);

  std::vector<LossTerm> terms(const LanguageBatch& batch) const override {
    return {{.name = "loss", .weight = 1, .count = batch.labels_M.size(0), .has_perplexity = true}};
  }
  std::vector<LossSum> losses(const LanguageBatch& batch, Pass& pass) const override;
  void show(const LanguageBatch& batch, Watch& watch) const override;

  // The carried state, one tensor for each lane and part: "carried.LANE.PART".
  NamedTensors state() const override;
  void update_made(std::span<const double> means) override;

 private:
  LanguageModel model_;
  std::vector<std::vector<torch::Tensor>> carried_;        // parts of each lane, fp32
  mutable std::vector<std::vector<torch::Tensor>> after_;  // the same after this update
};

}  // namespace attend
