// Samples to tensors: a batch of labelled texts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "data/task/samples.hpp"

namespace attend {

// One batch of labelled texts. What `labels` are depends on the task: classification int64 [B]; multi-label fp32 [B,
// L]; regression fp32 [B]; spans int64 [B, 2], the places of begin and end in the sequence; tags int64 [K], of
// the tokens at `places`.
struct LabelledBatch {
  SegmentedSequences input;
  torch::Tensor labels;
  std::vector<std::int64_t> places = {};    // tags: the rows of tokens that are to be tagged, ascending
  std::vector<std::int64_t> examples = {};  // which texts, questions or sentences these are of
};

// On the CPU, in the order given. Without labels where the samples have none.
LabelledBatch make_labelled_batch(std::span<const Sample* const> samples, TaskKind kind);

LabelledBatch on_device(LabelledBatch batch, torch::Device device);

}  // namespace attend
