#include "train/pretraining/language_task.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "models/run/run.hpp"
#include "train/pretraining/language_objective.hpp"

namespace attend {
namespace {

std::int64_t lanes_of(const PretrainingConfig& config) {
  return config.model.carries() ? config.trainer.accumulate : 0;
}

std::unique_ptr<LanguageObjective> language_objective(const LanguageModel& model, const PretrainingConfig& config) {
  return std::make_unique<LanguageObjective>(model, lanes_of(config), *config.max_tokens / config.instances.length,
                                             torch::Device(config.run.device));
}

}  // namespace

LanguageTask::LanguageTask(LanguageModel model, const Tokenizer& tokenizer, const PretrainingConfig& config,
                           DocumentCorpus train, std::optional<DocumentCorpus> valid)
    : StreamTask(language_objective(model, config), identity_of(config.model, tokenizer),
                 torch::Device(config.run.device)),
      model_(std::move(model)),
      config_(config),
      end_(tokenizer.special().eos),
      train_(std::move(train)),
      valid_(std::move(valid)) {
  batches_per_epoch_ = training_data().num_batches();
  if (!valid_) return;
  const bool carries = config.model.carries();  // in one lane, so that all models read the same text
  held_out_.emplace(*valid_, end_,
                    CausalDataConfig{.length = config.instances.length,
                                     .max_tokens = carries ? config.instances.length : *config.max_tokens,
                                     .lanes = carries ? 1 : 0});
}

CausalData LanguageTask::training_data() const {
  return {train_, end_,
          CausalDataConfig{.length = config_.instances.length,
                           .max_tokens = *config_.max_tokens,
                           .lanes = lanes_of(config_),
                           .seed = static_cast<std::uint64_t>(config_.trainer.seed)}};
}

MicroBatch LanguageTask::largest() {
  LanguageBatch batch = training_data().batch(0);
  batch.begins = config_.model.memory == 0;
  if (!batch.begins) {
    for (const auto& [name, part] : objective_state()) {
      if (part.dim() == 1) part.fill_(static_cast<double>(config_.model.memory));  // the memory is full
    }
  }
  return micro_batch(std::move(batch));
}

std::vector<ValidationMetric> LanguageTask::validate(const std::filesystem::path& /*run*/, std::int64_t /*step*/,
                                                     Ranks& ranks) {
  std::array<double, 3> sums = {};
  auto& [nll, count, correct] = sums;
  Carried carried;  // if the model has one, there is a single rank
  measure_held_out(*held_out_, config_.valid_tokens, ranks, [&](const LanguageBatch& batch) {
    Pass pass = Pass::inference();
    const torch::Tensor hidden_MH = model_->forward(batch.tokens, pass, &carried);
    const ops::CrossEntropy result = ops::cross_entropy(hidden_MH, model_->output_table(), {}, batch.labels_M, 0);
    nll += result.nll().item<double>();
    count += static_cast<double>(tokens_of(batch));
    correct += result.num_correct.item<double>();
  });
  ranks.sum(sums);
  const double loss = nll / count;
  return {{.name = "loss", .value = loss},
          {.name = "ppl", .value = std::exp(loss)},
          {.name = "accuracy", .value = 100 * correct / count}};
}

}  // namespace attend
