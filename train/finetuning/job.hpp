// Fine-tuning on a labelled task: its batches and validation, and the whole job.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "data/task/labelled_task.hpp"
#include "data/task/samples.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/text/text_model.hpp"
#include "train/finetuning/config.hpp"
#include "train/session.hpp"
#include "train/task.hpp"

namespace attend {

class FinetuningTask : public StreamTask<LabelledBatch> {
 public:
  // `task` must have all its labels. Throws UserError for invalid --label-weights.
  FinetuningTask(TextModel model, const LabelledTask& task, const Tokenizer& tokenizer, const FinetuningConfig& config,
                 TaskSplit train, std::vector<TaskSplit> valid);
  ~FinetuningTask() override { stop(); }

  torch::nn::Module& model() override { return *model_; }
  // Layer-wise decay: layer_decay to the power of the number of layers above, including the head.
  double rate_of(const std::string& parameter) const override;
  MicroBatch largest() override;
  std::int64_t batches_per_epoch() const override;
  std::vector<std::string> metrics() const override;
  // For the first validation file, the loss and all metrics of the task; for each further file its score, as
  // STEM_score.
  std::vector<ValidationMetric> validate(const std::filesystem::path& run, std::int64_t step, Ranks& ranks) override;

 private:
  // The depth of a parameter: 0 in the embeddings, 1 in the lowest layer, and so on; top_ + 1 above the encoder.
  std::int64_t depth(const std::string& parameter) const;
  std::unique_ptr<BatchStream<LabelledBatch>> stream_from(DataPosition position, Shard shard) override;
  std::int64_t tokens_of(const LabelledBatch& batch) const override { return batch.input.tokens.ids_M.size(0); }
  std::vector<std::int64_t> lines_of(const LabelledBatch& batch) const override;

  TextModel model_;
  LabelledTask labelled_;
  FinetuningConfig config_;
  TaskSplit train_;
  std::vector<TaskSplit> valid_;
  std::int64_t top_ = 0;  // depth of the highest layer
};

// One run. Throws UserError for the user's mistakes, and Interrupted after a signal, once everything is saved.
void finetune(const FinetuningConfig& config, const OptionOrigins& origins, const ProcessHooks& hooks);

// One run per seed in RUN/seed-N, and RUN/seeds.json with their scores, mean, standard deviation and best seed. Without
// --seeds, a single run as above.
void finetune(const FinetuningCommand& command, const OptionOrigins& origins, const ProcessHooks& hooks);

}  // namespace attend
