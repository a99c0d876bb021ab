// Training a translation model: its batches and validation, and the whole job.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/batch/sources.hpp"
#include "data/corpus/batch_order.hpp"
#include "data/corpus/parallel_corpus.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/attention/edits.hpp"
#include "models/translation/seq2seq.hpp"
#include "train/session.hpp"
#include "train/task.hpp"
#include "train/translation/config.hpp"
#include "train/translation/guided_attention.hpp"

namespace attend {

// Translation: batches of a parallel corpus, label-smoothed cross-entropy under teacher forcing, validation by loss and
// by metrics of greedy translations.
class TranslationTask : public StreamTask<Batch> {
 public:
  // `config` must be resolved except for schedule and limits. `valid` may be absent. `guides` has the links of each
  // guide of `config`.
  TranslationTask(Seq2Seq model, const TokenizerPair& tokenizers, const TranslationConfig& config, EncodedCorpus train,
                  std::optional<EncodedCorpus> valid, std::vector<PieceLinks> guides = {});
  ~TranslationTask() override {
    if (sampled_) sampled_->stop();
    stop();
  }

  torch::nn::Module& model() override { return *model_; }
  double rate_of(const std::string& parameter) const override { return is_of_gates(parameter) ? kGateRate : 1; }
  MicroBatch largest() override;
  std::int64_t batches_per_epoch() const override { return batches_per_epoch_; }
  std::vector<std::string> metrics() const override { return valid_ ? metric_names_ : std::vector<std::string>(); }
  std::vector<ValidationMetric> validate(const std::filesystem::path& run, std::int64_t step, Ranks& ranks) override;

 private:
  // Held-out pairs in batches of fixed order, and the text for the metrics.
  struct Validation {
    EncodedCorpus corpus;
    BatchOrder order;
    std::vector<std::string> src;
    std::vector<std::string> tgt;
  };

  ParallelBatches batches() const;  // for training, in the pieces of each epoch
  Batch guided(Batch batch) const;  // with the cells of guides
  std::unique_ptr<BatchStream<Batch>> stream_from(DataPosition position, Shard shard) override;
  std::int64_t tokens_of(const Batch& batch) const override { return batch.num_labels(); }
  std::vector<std::int64_t> lines_of(const Batch& batch) const override;

  Seq2Seq model_;
  TokenizerPair tokenizers_;
  metrics::MetricChoice metrics_;
  std::vector<std::string> metric_names_;
  std::int64_t threads_;
  BatchIds ids_;
  EncodedCorpus train_;
  BatchOrder order_;
  std::optional<SampledPairs> sampled_;
  std::vector<PieceLinks> guides_;
  std::int64_t batches_per_epoch_ = 0;
  std::optional<Validation> valid_;
};

// Training a translation model, from its options to its last checkpoint.

// Trains the model described by `config` in its run directory. Throws UserError and Interrupted as train() does.
void train_translation(const TranslationConfig& config, const OptionOrigins& origins, const ProcessHooks& hooks);

}  // namespace attend
