// Tensors for a batch of labelled texts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "data/task/samples.hpp"

namespace attend {

// A batch of labelled texts. `labels` depends on the task: classification int64 [B]; multi-label fp32 [B, L];
// regression fp32 [B]; spans int64 [B, 2], positions of first and last token in the sequence; tags int64 [K], for the
// tokens at `places`.
struct LabelledBatch {
  SegmentedSequences input;
  torch::Tensor labels;
  std::vector<std::int64_t> places = {};    // tags: rows of the tokens to tag, ascending
  std::vector<std::int64_t> examples = {};  // numbers of the texts, questions or sentences
  std::vector<torch::Tensor*> tensors() { return {&input.tokens.ids_M, &input.segments_M, &labels}; }
};

// On the CPU, in the given order. Without labels if the samples have none.
LabelledBatch make_labelled_batch(std::span<const Sample* const> samples, TaskKind kind);

}  // namespace attend
