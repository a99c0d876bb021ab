// The tasks of pretraining: BERT and language models on raw text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/batch/batch_stream.hpp"
#include "data/batch/sources.hpp"
#include "data/corpus/document_corpus.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/bert/bert.hpp"
#include "models/language/language_model.hpp"
#include "train/pretraining/config.hpp"
#include "train/task.hpp"

namespace attend {

// What both have in common: the model, the text to learn from and that to validate on, which may be absent, and batches
// of about the same size.
template <class Model, class Batch, class HeldOut>
class RawTextTask : public StreamTask<Batch> {
 public:
  ~RawTextTask() override { this->stop(); }

  torch::nn::Module& model() override { return *model_; }
  std::int64_t batches_per_epoch() const override { return batches_per_epoch_; }
  bool batches_are_alike() const override { return true; }
  std::vector<std::string> metrics() const override {
    return valid_ ? config_.metric_names() : std::vector<std::string>();
  }

 protected:
  RawTextTask(Model model, std::unique_ptr<Objective<Batch>> objective, TensorMetadata identity,
              const Tokenizer& tokenizer, const PretrainingConfig& config, DocumentCorpus train,
              std::optional<DocumentCorpus> valid)
      : StreamTask<Batch>(std::move(objective), std::move(identity), torch::Device(config.run.device)),
        model_(std::move(model)),
        tokenizer_(tokenizer),
        config_(config),
        train_(std::move(train)),
        valid_(std::move(valid)) {}

  Model model_;
  Tokenizer tokenizer_;
  PretrainingConfig config_;
  DocumentCorpus train_;
  std::int64_t batches_per_epoch_ = 0;
  std::optional<DocumentCorpus> valid_;
  std::optional<HeldOut> held_out_;  // refers to valid_
};

// Pretraining of a BERT on raw text: masked or permuted tokens, and the relation of two parts of a sequence.
class PretrainingTask : public RawTextTask<BertForPretraining, PretrainingBatch, PretrainingData> {
 public:
  static constexpr std::int64_t kPlateauSteps = 1000;
  static constexpr double kPlateauGain = 0.2;

  PretrainingTask(BertForPretraining model, const Tokenizer& tokenizer, const PretrainingConfig& config,
                  DocumentCorpus train, std::optional<DocumentCorpus> valid);

  std::int64_t phase_at(double share) const override;
  MicroBatch largest() override;
  // Loss, perplexity and accuracy of the predicted tokens, and accuracy of pairs if they are trained. Warns if, after
  // kPlateauSteps and in the last phase, the model is hardly better than predicting by the frequency of the pieces.
  std::vector<ValidationMetric> validate(const std::filesystem::path& run, std::int64_t step, Ranks& ranks) override;

 private:
  std::unique_ptr<BatchStream<PretrainingBatch>> stream_from(DataPosition position, Shard shard) override;
  std::int64_t tokens_of(const PretrainingBatch& batch) const override { return batch.input.tokens.ids_M.size(0); }
  std::vector<std::int64_t> lines_of(const PretrainingBatch& batch) const override { return batch.lines; }
  PretrainingData data(const DocumentCorpus& corpus, const MaskingConfig& masking, std::uint64_t seed,
                       const Phase& phase) const;
  PretrainingData training_data(std::int64_t phase) const;
  void warn_of_plateau(double loss, const std::vector<torch::Tensor>& labels, Ranks& ranks);

  std::vector<Phase> phases_;
  std::int64_t phase_ = 0;              // the current phase
  std::optional<double> unigram_loss_;  // held-out loss of predicting by frequency
};

// Pretraining of a language model on raw text.
class LanguageTask : public RawTextTask<LanguageModel, LanguageBatch, CausalData> {
 public:
  // The tokenizer must have an end token. Throws UserError as CausalData does.
  LanguageTask(LanguageModel model, const Tokenizer& tokenizer, const PretrainingConfig& config, DocumentCorpus train,
               std::optional<DocumentCorpus> valid);

  // With a memory, a batch that finds it full; this overwrites the state of the objective.
  MicroBatch largest() override;
  // Loss, perplexity and accuracy over the first --valid-tokens tokens of the text; state is carried as in training. Of
  // a hybrid, loss and accuracy of both predictions in all of these segments, and the trained loss.
  std::vector<ValidationMetric> validate(const std::filesystem::path& run, std::int64_t step, Ranks& ranks) override;

 private:
  std::unique_ptr<BatchStream<LanguageBatch>> stream_from(DataPosition position, Shard shard) override {
    return std::make_unique<BatchStream<LanguageBatch>>(training_data(), position, shard);
  }
  std::int64_t tokens_of(const LanguageBatch& batch) const override { return batch.num_tokens(); }
  std::vector<std::int64_t> lines_of(const LanguageBatch& batch) const override { return batch.lines; }
  CausalData training_data() const;

  std::optional<CausalData> masked_held_out_;  // of a hybrid: the same segments as held_out_
};

}  // namespace attend
