#include "train/pretraining/task.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/random.hpp"
#include "models/layers/layers.hpp"
#include "models/run/kind.hpp"
#include "train/pretraining/objective.hpp"

namespace attend {
namespace {

constexpr std::uint64_t kCounted = 10'000'000;

// -ln of the frequency of each piece among the first tokens of the text, with add-one smoothing, [V].
torch::Tensor unigram_nll(const DocumentCorpus& corpus, std::int64_t vocabulary) {
  std::vector<std::int32_t> ids;
  corpus.append(0, std::min(kCounted, corpus.num_tokens()), ids);
  const auto all = torch::from_blob(ids.data(), {std::ssize(ids)}, torch::kInt32).to(torch::kLong);
  const torch::Tensor counts_V = at::bincount(all, {}, vocabulary).to(torch::kFloat64) + 1;
  return (counts_V.sum().log() - counts_V.log()).to(torch::kFloat32);
}

}  // namespace

PretrainingTask::PretrainingTask(BertForPretraining model, const Tokenizer& tokenizer, const PretrainingConfig& config,
                                 DocumentCorpus train, std::optional<DocumentCorpus> valid)
    : RawTextTask(model, std::make_unique<PretrainingObjective>(model), identity_of(config.model.stack, tokenizer),
                  tokenizer, config, std::move(train), std::move(valid)),
      phases_(config.lengths("--phase", *config.max_tokens)) {
  batches_per_epoch_ = training_data(std::ssize(phases_) - 1).num_batches();
  // The same masks or orders at every validation, and the masking of the paper whatever the options, so that runs are
  // comparable. The length is that of the last phase.
  if (valid_) held_out_.emplace(data(*valid_, MaskingConfig{}, 0, phases_.back()));
}

PretrainingData PretrainingTask::data(const DocumentCorpus& corpus, const MaskingConfig& masking, std::uint64_t seed,
                                      const Phase& phase) const {
  InstanceConfig instances = config_.instances;
  instances.length = phase.length;
  if (!phase.pairs || !config_.relates_parts()) instances.sequence_objective = SequenceObjective::none;
  return {corpus, tokenizer_, instances, masking, phase.max_tokens, seed, config_.objective};
}

PretrainingData PretrainingTask::training_data(std::int64_t phase) const {
  MaskingConfig masking = config_.masking;
  masking.mask_rate = phases_.at(phase).mask_rate.value_or(masking.mask_rate);
  return data(train_, masking, combine_keys(config_.trainer.seed, phase), phases_.at(phase));
}

std::int64_t PretrainingTask::phase_at(double share) const {
  const auto found = std::ranges::find_if(phases_, [share](const Phase& phase) { return share < phase.end; });
  return std::min(found - phases_.begin(), std::ssize(phases_) - 1);
}

std::unique_ptr<BatchStream<PretrainingBatch>> PretrainingTask::stream_from(DataPosition position, Shard shard) {
  if (position.phase >= std::ssize(phases_)) {
    throw UserError("the checkpoint is in phase " + std::to_string(position.phase) + ", but the training has " +
                        std::to_string(phases_.size()) + " phases, counted from 0",
                    "its state.json was edited or is damaged");
  }
  phase_ = position.phase;
  if (phases_.size() > 1) {
    const Phase& phase = phases_[phase_];
    log::info("phase {} of {}: sequences of {} tokens, batches of {}", phase_ + 1, phases_.size(), phase.length,
              phase.max_tokens);
  }
  return std::make_unique<BatchStream<PretrainingBatch>>(training_data(position.phase), position, shard);
}

// All batches of a phase have about the same size; longer sequences with the same number of tokens need more memory.
MicroBatch PretrainingTask::largest() {
  const auto size = [](const Phase& phase) { return std::pair(phase.max_tokens, phase.length); };
  return micro_batch(training_data(std::ranges::max_element(phases_, {}, size) - phases_.begin()).batch(0));
}

std::vector<ValidationMetric> PretrainingTask::validate(const std::filesystem::path& /*run*/, std::int64_t step,
                                                        Ranks& ranks) {
  std::vector<torch::Tensor> labels;
  std::array<double, 5> sums = {};
  auto& [nll, masked, masked_correct, pairs, pairs_correct] = sums;
  measure_held_out(*held_out_, config_.valid_tokens, ranks, [&](const PretrainingBatch& batch) {
    Pass pass = Pass::inference();
    const auto losses = model_->forward(batch, pass);
    nll += losses.masked.nll().item<double>();
    labels.push_back(batch.labels_K.cpu());
    masked += static_cast<double>(batch.labels_K.size(0));
    masked_correct += losses.masked.num_correct.item<double>();
    if (!batch.relations_B.defined()) return;
    pairs += static_cast<double>(batch.relations_B.size(0));
    pairs_correct += losses.sequence.num_correct.item<double>();
  });
  ranks.sum(sums);
  const double loss = nll / masked;
  if (step >= kPlateauSteps && phase_ == std::ssize(phases_) - 1) warn_of_plateau(loss, labels, ranks);
  std::vector<ValidationMetric> metrics = {{.name = "loss", .value = loss},
                                           {.name = "ppl", .value = std::exp(loss)},
                                           {.name = "accuracy", .value = 100 * masked_correct / masked}};
  if (pairs > 0) metrics.push_back({.name = "sequence_accuracy", .value = 100 * pairs_correct / pairs});
  return metrics;
}

void PretrainingTask::warn_of_plateau(double loss, const std::vector<torch::Tensor>& labels, Ranks& ranks) {
  if (!unigram_loss_) {
    const torch::Tensor nll_V = unigram_nll(train_, tokenizer_.size());
    std::array<double, 2> nll_and_count = {};
    for (const torch::Tensor& labels_K : labels) {
      nll_and_count[0] += nll_V.index_select(0, labels_K).sum().item<double>();
      nll_and_count[1] += static_cast<double>(labels_K.size(0));
    }
    ranks.sum(nll_and_count);
    unigram_loss_ = nll_and_count[0] / nll_and_count[1];
  }
  if (loss < *unigram_loss_ - kPlateauGain) return;
  log::warn(
      "the loss is {:.2f}, and predicting by the frequency of the pieces would give {:.2f}: the model does not attend "
      "to the neighbours of a masked token yet. It learns this sooner with a longer phase of short sequences, such as "
      "--short-first 0.4, --initial-positions sinusoids, --dropout 0, --sequence-objective none or a lower "
      "--learning-rate",
      loss, *unigram_loss_);
}

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
    : RawTextTask(model, language_objective(model, config), identity_of(config.model, tokenizer), tokenizer, config,
                  std::move(train), std::move(valid)) {
  batches_per_epoch_ = training_data().num_batches();
  if (!valid_) return;
  const bool carries = config.model.carries();  // in one lane, so that all models read the same text
  CausalDataConfig held_out{.length = config.instances.length,
                            .max_tokens = carries ? config.instances.length : *config.max_tokens,
                            .lanes = carries ? 1 : 0};
  held_out_.emplace(*valid_, tokenizer.special().eos, held_out);
  if (!config.is_hybrid()) return;
  held_out.hybrid = HybridConfig{.vocabulary = MaskVocabulary(tokenizer)};  // the masking of the BERT paper
  masked_held_out_.emplace(*valid_, tokenizer.special().eos, held_out);
}

CausalData LanguageTask::training_data() const {
  CausalDataConfig data{.length = config_.instances.length,
                        .max_tokens = *config_.max_tokens,
                        .lanes = lanes_of(config_),
                        .seed = config_.trainer.seed};
  if (config_.is_hybrid()) {
    data.hybrid = HybridConfig{
        .causal_share = config_.causal_share, .masking = config_.masking, .vocabulary = MaskVocabulary(tokenizer_)};
  }
  return {train_, tokenizer_.special().eos, data};
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
  // The mean loss of the tokens that `predict` predicts, and their accuracy in percent.
  const auto measure = [&](const CausalData& data, const auto& predict) {
    std::array<double, 3> sums = {};
    auto& [nll, count, correct] = sums;
    measure_held_out(data, config_.valid_tokens, ranks, [&](const LanguageBatch& batch) {
      Pass pass = Pass::inference();
      const ops::CrossEntropy result = predict(batch, pass);
      nll += result.nll().item<double>();
      count += static_cast<double>(result.nll_M.size(0));
      correct += result.num_correct.item<double>();
    });
    ranks.sum(sums);
    return std::pair(nll / count, 100 * correct / count);
  };
  Carried carried;  // if the model has one, there is a single rank
  const auto [loss, accuracy] = measure(*held_out_, [&](const LanguageBatch& batch, Pass& pass) {
    const torch::Tensor hidden_MH = model_->forward(batch.tokens, pass, &carried);
    return ops::cross_entropy(hidden_MH, model_->output_table(), {}, batch.labels_M, 0);
  });
  if (!masked_held_out_) {
    return {{.name = "loss", .value = loss},
            {.name = "ppl", .value = std::exp(loss)},
            {.name = "accuracy", .value = accuracy}};
  }
  const auto [masked_loss, masked_accuracy] = measure(*masked_held_out_, [&](const LanguageBatch& batch, Pass& pass) {
    return predict_masked(*model_, batch.masked, pass);
  });
  const double share = config_.causal_share;
  return {{.name = "loss", .value = share * loss + (1 - share) * masked_loss},
          {.name = "causal_loss", .value = loss},
          {.name = "causal_accuracy", .value = accuracy},
          {.name = "masked_loss", .value = masked_loss},
          {.name = "masked_accuracy", .value = masked_accuracy}};
}

}  // namespace attend
