// Batches of labelled texts: samples as tensors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "data/task/samples.hpp"

namespace attend {

// Only the labels of the task's kind are set, or none if the samples have none.
struct LabelledBatch {
  SegmentedSequences input;
  torch::Tensor label_B = {};               // classification, int64: the number of the label
  torch::Tensor labels_BL = {};             // multi-label, fp32: 1 for every label that a text has, else 0
  torch::Tensor number_B = {};              // regression, fp32
  torch::Tensor begin_B = {}, end_B = {};   // spans, int64: the first and last token of the answer in its sequence
  torch::Tensor tag_K = {};                 // tags, int64: the tag of each word
  std::vector<std::int64_t> words = {};     // tags: the row of each word's first token, ascending
  std::vector<std::int64_t> examples = {};  // numbers of their texts, questions or sentences

  std::vector<torch::Tensor*> tensors() {
    return {&input.tokens.ids_M, &input.segments_M, &label_B, &labels_BL, &number_B, &begin_B, &end_B, &tag_K};
  }
};

// Makes the batch on the CPU, in the given order.
LabelledBatch make_labelled_batch(std::span<const Sample* const> samples);

}  // namespace attend
