// Learning a task from labelled texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/task/labelled_task.hpp"
#include "data/task/task_split.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/bert/text_model.hpp"
#include "train/finetuning/config.hpp"
#include "train/task.hpp"

namespace attend {

class FinetuningTask : public Task {
 public:
  // All labels of `task` are known.
  FinetuningTask(TextModel model, const LabelledTask& task, const Tokenizer& tokenizer, const FinetuningConfig& config,
                 TaskSplit train, std::vector<TaskSplit> valid);

  torch::nn::Module& model() override { return *model_; }
  TensorMetadata identity() const override { return identity_; }
  // Layer-wise decay: layer_decay to the power of the layers above.
  double rate_of(const std::string& parameter) const override;
  void seek(DataPosition position) override;
  MicroBatch next() override;
  MicroBatch largest() override;
  std::int64_t batches_per_epoch() const override;
  bool has_perplexity() const override { return false; }
  std::vector<std::string> metrics() const override;
  // Of the first validation file loss and all metrics of the task; of each further one its score, as FILE_score.
  std::vector<ValidationMetric> validate(const std::filesystem::path& run, std::int64_t step) override;

 private:
  // Of a parameter: 0 in the embeddings, 1 in the lowest layer, and so on; above the encoder top_ + 1.
  std::int64_t depth(const std::string& parameter) const;
  MicroBatch micro_batch(const std::vector<const Sample*>& samples) const;

  TextModel model_;
  LabelledTask labelled_;
  FinetuningConfig config_;
  TensorMetadata identity_;
  TaskSplit train_;
  std::vector<TaskSplit> valid_;
  torch::Tensor label_weights_L_;
  std::int64_t top_ = 0;              // depth of the highest layer
  std::vector<std::uint32_t> order_;  // of the samples, in the epoch of position_
  DataPosition position_;
};

}  // namespace attend
