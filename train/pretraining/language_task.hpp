// Pretraining of a language model on raw text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batch/causal_data.hpp"
#include "data/corpus/document_corpus.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/language/language_model.hpp"
#include "train/pretraining/config.hpp"
#include "train/task.hpp"

namespace attend {

class LanguageTask : public StreamTask<LanguageBatch> {
 public:
  // `valid` may be absent. The tokenizer must have an end token. Throws UserError as CausalData does.
  LanguageTask(LanguageModel model, const Tokenizer& tokenizer, const PretrainingConfig& config, DocumentCorpus train,
               std::optional<DocumentCorpus> valid);
  ~LanguageTask() override { stop(); }

  torch::nn::Module& model() override { return *model_; }
  // With a memory, a batch that finds it full; this overwrites the state of the objective.
  MicroBatch largest() override;
  std::int64_t batches_per_epoch() const override { return batches_per_epoch_; }
  bool batches_are_alike() const override { return true; }
  std::vector<std::string> metrics() const override {
    return valid_ ? config_.metric_names() : std::vector<std::string>();
  }
  // Loss, perplexity and accuracy over the first --valid-tokens tokens of the text; state is carried as in training.
  std::vector<ValidationMetric> validate(const std::filesystem::path& run, std::int64_t step, Ranks& ranks) override;

 private:
  std::unique_ptr<BatchStream<LanguageBatch>> stream_from(DataPosition position, Shard shard) override {
    return std::make_unique<BatchStream<LanguageBatch>>(training_data(), position, shard);
  }
  std::int64_t tokens_of(const LanguageBatch& batch) const override { return batch.labels_M.size(0); }
  std::vector<std::int64_t> lines_of(const LanguageBatch& batch) const override { return batch.lines; }
  CausalData training_data() const;

  LanguageModel model_;
  PretrainingConfig config_;
  std::int32_t end_;
  DocumentCorpus train_;
  std::int64_t batches_per_epoch_ = 0;
  std::optional<DocumentCorpus> valid_;
  std::optional<CausalData> held_out_;  // refers to valid_
};

}  // namespace attend
