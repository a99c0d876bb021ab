// The head of a task on an encoder of texts: which hidden states it reads, its linear map, its loss and what it
// predicts.
//
//   classification   softmax over the labels of the pooled vector; cross-entropy
//   multi-label      a sigmoid for every label of the pooled vector; the mean of their binary cross-entropies
//   regression       a number out of the pooled vector; the squared error
//   spans            two logits for every token, softmax over the tokens of a sequence: the answer begins here, it ends
//                    here; the mean of both cross-entropies (arXiv 1810.04805, section 4.2)
//   tags             softmax over the tags of every word's first token; cross-entropy (section 5.3)
//
// Legend: B sequences, M tokens (ragged), K words, R rows that are read (B, M or K), H width, L labels, O outputs.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "data/batch/labelled_batch.hpp"
#include "data/task/labelled_task.hpp"
#include "models/bert/text_options.hpp"
#include "models/layers/pooling.hpp"

namespace attend {

struct HeadConfig {
  std::int64_t width = 0;
  std::int64_t labels = 0;         // or tags, where the task has any
  double deviation = 0;            // of initial weights
  double dropout = 0;              // of what the linear map reads
  Pooling pooling = Pooling::cls;  // of a head that reads one vector a sequence
};

// Its parameters are the model's own, under the names that Hugging Face gives them.
class Head {
 public:
  virtual ~Head() = default;

  // The tokens whose hidden states it reads; nothing: all of them.
  virtual std::optional<Selection> wanted(const LabelledBatch& batch) const = 0;

  // [R, O]. In fp32 whatever the encoder computes in, so that numbers have all their digits.
  torch::Tensor logits(const Encoded& encoded, const SegmentedSequences& input, Pass& pass) const;

  // The loss, a scalar, summed over the `count` sequences or words of the batch. Errors weigh as much as their label
  // where `label_weights_L` is defined, in heads that have labels.
  virtual torch::Tensor loss(const torch::Tensor& logits_RO, const LabelledBatch& batch,
                             const torch::Tensor& label_weights_L) const = 0;
  virtual std::int64_t count(const LabelledBatch& batch) const { return batch.input.tokens.layout.size(); }

  // Probabilities of the labels, [B, L], or tags, [K, L]; of a regression the number, [B, 1]; of spans the logits of
  // begin and end, [M, 2].
  virtual torch::Tensor predict(const torch::Tensor& logits_RO) const = 0;

 protected:
  Head(torch::nn::Module& model, const HeadConfig& config, std::int64_t outputs);

  // What the linear map reads: [R, H].
  virtual torch::Tensor read(const Encoded& encoded, const SegmentedSequences& /*input*/) const {
    return encoded.hidden_MH;
  }

 private:
  double dropout_;
  Linear classifier_;
};

// The head of a task, a part of `model`.
std::unique_ptr<Head> make_head(torch::nn::Module& model, TaskKind kind, const HeadConfig& config);

}  // namespace attend
