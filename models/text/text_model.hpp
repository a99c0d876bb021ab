// A text encoder with the head of a task.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "data/batch/labelled_batch.hpp"
#include "data/task/labelled_task.hpp"
#include "models/text/encoder.hpp"
#include "models/text/heads.hpp"
#include "models/text/text_options.hpp"

namespace attend {

class TextModelImpl : public torch::nn::Module {
 public:
  // `task` must have all its labels. Throws UserError if the options contradict each other or the task.
  TextModelImpl(const TextModelOptions& options, const LabelledTask& task, std::int64_t vocabulary);

  // The logits of the head for a batch (Head::logits).
  torch::Tensor logits(const LabelledBatch& batch, Pass& pass) const;

  const TextEncoder& encoder() const { return *encoder_; }
  const Head& head() const { return *head_; }

 private:
  std::unique_ptr<TextEncoder> encoder_;
  std::unique_ptr<Head> head_;
};
TORCH_MODULE(TextModel);

}  // namespace attend
