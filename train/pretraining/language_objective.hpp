// The objective of a language model: the cross-entropy of each token, given those before it.
//
// A model that carries its state from one segment of a text to the next (truncated backpropagation through time) goes
// on with the state that the last batch of the same lane left (data/batch/causal_data.hpp). That of an update that is
// not made is left as it was.
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
  // Batches of `lanes` lanes, each of `rows` segments, for a model that carries its state; 0 lanes for another one.
  LanguageObjective(LanguageModel model, std::int64_t lanes, std::int64_t rows, torch::Device device);

  std::vector<LossTerm> terms(const LanguageBatch& batch) const override {
    return {{.name = "loss", .weight = 1, .count = batch.labels_M.size(0), .has_perplexity = true}};
  }
  std::vector<LossSum> losses(const LanguageBatch& batch, Pass& pass) const override;
  void show(const LanguageBatch& batch, Watch& watch) const override;

  // Each part of the state of each lane, carried.LANE.PART.
  NamedTensors state() const override;
  void update_made(std::span<const double> means) override;

 private:
  LanguageModel model_;
  std::vector<std::vector<torch::Tensor>> carried_;        // the parts of each lane, fp32
  mutable std::vector<std::vector<torch::Tensor>> after_;  // those that the passes since the last update left; or none
};

}  // namespace attend
