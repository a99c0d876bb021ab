// Where a recurrent decoder looks: a score function over the memory, as one class a kind. A kind prepares what it needs
// of the memory once a sentence and then attends step after step.
//
// Legend: S memory tokens (ragged), V width of the memory, A width of the keys, R decoder rows.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <span>

#include "data/batch/batch.hpp"

namespace attend {

// The memory as attention reads it.
struct Keys {
  torch::Tensor keys_SA;
  torch::Tensor values_SV;
  Layout layout;
};

// What a step is told beside its queries.
struct StepContext {
  std::span<const std::int64_t> sentences;  // the sentence of the memory that each row reads
};

struct Attended {
  torch::Tensor context_RV;  // the weighted sum of the values
  torch::Tensor weights_RS;  // fp32, padded with zeros to the longest sentence; each row sums to 1
};

class AttentionImpl : public torch::nn::Module {
 public:
  // Once a batch of sentences: memory [S, V].
  virtual Keys prepare(const torch::Tensor& memory_SV, const Layout& layout) const = 0;

  // One step of R rows: query [R, H] is the decoder's hidden state.
  virtual Attended attend(const torch::Tensor& query_RH, const Keys& keys, const StepContext& step) const = 0;
};
using Attention = std::shared_ptr<AttentionImpl>;

}  // namespace attend
