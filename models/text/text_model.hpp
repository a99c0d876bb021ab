// A text encoder with the head of a task.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "data/batch/batch.hpp"
#include "data/task/labelled_task.hpp"
#include "models/text/encoder.hpp"
#include "models/text/pooling.hpp"

namespace attend {

// The head of a task on a text encoder: the hidden states that it reads, its linear map, its loss and its
// predictions.
//
//   classification   softmax over the labels of the pooled vector; cross-entropy
//   multi-label      a sigmoid for every label of the pooled vector; the mean of their binary cross-entropies
//   regression       a number from the pooled vector; the squared error
//   spans            two logits for every token, of the beginning and the end of the answer; softmax over the tokens
//                    of a sequence; the mean of both cross-entropies (arXiv 1810.04805, section 4.2)
//   tags             softmax over the tags of every word's first token; cross-entropy (section 5.3)
//
// Legend: docs/architecture.md; K words, R rows read (B, M or K).

struct HeadConfig {
  std::int64_t width = 0;
  std::int64_t labels = 0;              // number of labels or tags, if the task has any
  double deviation = 0;                 // standard deviation of initial weights
  double dropout = 0;                   // on the input of the linear map
  std::optional<Pooling> pooling = {};  // of a head that reads one vector per sequence
};

// The modules `pooler` and `classifier` are registered in the model itself.
class Head {
 public:
  virtual ~Head() = default;

  // The tokens whose hidden states the head reads; nullopt: all.
  virtual std::optional<Selection> selected(const LabelledBatch& batch) const;

  // The logits, [R, O], always fp32.
  torch::Tensor logits(const Encoded& encoded, const SegmentedSequences& input, Pass& pass) const;

  // The loss, a scalar summed over the `count` sequences or words of the batch. With labels or tags, losses are
  // weighted by `label_weights_L` if it is defined.
  virtual torch::Tensor loss(const torch::Tensor& logits_RO, const LabelledBatch& batch,
                             const torch::Tensor& label_weights_L) const = 0;
  virtual std::int64_t count(const LabelledBatch& batch) const { return batch.input.tokens.layout.size(); }

  // Probabilities of the labels, [B, L], or tags, [K, L]; the number of a regression, [B, 1]; the logits of the begin
  // and end of spans, [M, 2].
  virtual torch::Tensor predict(const torch::Tensor& logits_RO) const = 0;

 protected:
  Head(torch::nn::Module& model, const HeadConfig& config, std::int64_t outputs);

 private:
  double dropout_;
  std::shared_ptr<PoolingImpl> pooler_;  // null: the head reads the states of tokens
  Linear classifier_;
};

// Makes the head of a task and registers it in `model`.
std::unique_ptr<Head> make_head(torch::nn::Module& model, TaskKind kind, const HeadConfig& config);

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
