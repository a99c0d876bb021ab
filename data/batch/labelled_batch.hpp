// Samples to tensors: a batch of labelled texts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "data/task/samples.hpp"

namespace attend {

// Of the labels those of the task's kind are there; none where the samples have none.
struct LabelledBatch {
  SegmentedSequences input;
  torch::Tensor label_B = {};               // classification, int64: the number of the label
  torch::Tensor labels_BL = {};             // multi-label, fp32: 1 for every label that a text has, else 0
  torch::Tensor number_B = {};              // regression, fp32
  torch::Tensor begin_B = {}, end_B = {};   // spans, int64: the first and last token of the answer in its sequence
  torch::Tensor tag_K = {};                 // tags, int64: of the words
  std::vector<std::int64_t> words = {};     // tags: the row of each word's first token, ascending
  std::vector<std::int64_t> examples = {};  // which texts, questions or sentences these are of

  std::vector<torch::Tensor*> tensors() {
    return {&input.tokens.ids_M, &input.segments_M, &label_B, &labels_BL, &number_B, &begin_B, &end_B, &tag_K};
  }
};

// On the CPU, in the order given.
LabelledBatch make_labelled_batch(std::span<const Sample* const> samples);

}  // namespace attend
