#include "train/translation/objective.hpp"

#include <algorithm>
#include <cmath>

#include "train/watch.hpp"

namespace attend {

double own_word_share(const ObjectiveConfig& config, double done) {
  switch (config.sampling_schedule) {
    case SamplingSchedule::linear:
      return config.scheduled_sampling * done;
    case SamplingSchedule::exponential:
      return config.scheduled_sampling * (1 - std::pow(0.01, done));
    case SamplingSchedule::inverse_sigmoid:
      return config.scheduled_sampling / (1 + std::exp(12 * (0.5 - done)));
  }
  return 0;
}

TranslationObjective::TranslationObjective(Seq2Seq model, const ObjectiveConfig& config, bool samples)
    : model_(std::move(model)), config_(config) {
  if (samples) reinforce_.emplace(config.reinforce_weight, config.entropy_weight);
}

std::vector<LossTerm> TranslationObjective::terms(const Batch& batch) const {
  std::vector<LossTerm> terms = {{.name = "loss", .weight = 1, .count = batch.num_labels(), .has_perplexity = true}};
  if (reinforce_) terms.push_back({.name = "reinforce", .weight = 1, .count = batch.num_labels()});
  return terms;
}

std::vector<LossSum> TranslationObjective::losses(const Batch& batch, Pass& pass) const {
  SampledChoices sampled;
  if (reinforce_) pass.record_choices(sampled);
  if (pass.training()) pass.feed_predictions(own_word_share(config_, pass.progress().share));
  const torch::Tensor hidden_MH = model_->forward(batch, pass);
  const ops::CrossEntropy result =
      ops::cross_entropy(hidden_MH, model_->output_table(), {}, batch.labels_M, config_.label_smoothing);
  std::vector<LossSum> sums = {{.loss = result.loss, .reported = result.nll()}};
  if (reinforce_ && pass.training()) {
    const torch::Tensor loss = reinforce_->loss(sampled, result.nll_M, batch.tgt.layout);
    sums.push_back({.loss = loss, .reported = loss.detach()});
  }
  return sums;
}

void TranslationObjective::show(const Batch& batch, Watch& watch) const {
  const std::int64_t count = std::min(num_watched(batch.src.layout), num_watched(batch.tgt.layout));
  const Batch first{.src = first_sentences(batch.src, count),
                    .tgt = first_sentences(batch.tgt, count),
                    .labels_M = {},
                    .examples = {}};
  Pass pass = watch.pass(first.src.layout, first.tgt.layout);
  model_->forward(first, pass);
}

// The first term reports nats.
void TranslationObjective::update_made(std::span<const double> means) {
  if (reinforce_) reinforce_->move_baseline(-means.front());
}

}  // namespace attend
