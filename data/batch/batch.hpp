// A batch as the models see it: ragged, the concatenation of its sentences, with no padding anywhere.
//
// Legend: B sentences, M tokens in all. Two sentences of 3 and 2 tokens:
//   ids_M = [5 9 3 | 7 3],  offsets_B1 = [0 3 5],  max_length = 3
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace attend {

// Where the sentences of a ragged tensor begin and end: sentence b is rows offsets[b] to offsets[b + 1].
struct Layout {
  std::vector<std::int64_t> offsets = {0};  // B + 1 numbers, never decreasing, the first is 0
  std::int64_t max_length = 0;              // of the longest sentence

  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t num_tokens() const { return offsets.back(); }
  std::int64_t length(std::int64_t b) const { return offsets[b + 1] - offsets[b]; }
  // Puts a sentence of `length` tokens behind the others.
  void append(std::int64_t length) {
    offsets.push_back(num_tokens() + length);
    max_length = std::max(max_length, length);
  }
};

// Some tokens of a ragged batch, in its order. The layout of the example and its rows 1, 3 and 4 make
//   rows_K = [1 3 4],  layout.offsets = [0 1 3]
struct Selection {
  torch::Tensor rows_K;  // int64, on the device of the model
  Layout layout;         // how they lie in the sentences

  torch::Tensor of(const torch::Tensor& x_MH) const { return x_MH.index_select(0, rows_K); }
};

// `rows` ascend.
Selection select(const std::vector<std::int64_t>& rows, const Layout& layout, torch::Device device);

// The first row of every sentence, none of which is empty.
std::vector<std::int64_t> first_rows(const Layout& layout);

// Ragged sentences of token ids. `ids_M` is int64 on the device of the model.
struct Sequences {
  torch::Tensor ids_M;
  Layout layout;
};

// One batch of translation. The decoder reads `tgt` (bos y1 … yn) and is to predict `labels_M` (y1 … yn eos), row by
// row; src is (x1 … xm eos).
struct Batch {
  Sequences src;
  Sequences tgt;
  torch::Tensor labels_M;              // int64, as many as tgt has tokens
  std::vector<std::int64_t> examples;  // which examples of the corpus these are
  std::int64_t num_labels() const { return labels_M.size(0); }
};

// What an encoder of BERT's kind reads: [CLS] a [SEP] or [CLS] a [SEP] b [SEP], and of every token whether it is of the
// first or the second part.
struct SegmentedSequences {
  Sequences tokens;
  torch::Tensor segments_M;  // int64: 0 or 1
};

// One batch of pretraining (arXiv 1810.04805, section 3.1).
struct PretrainingBatch {
  SegmentedSequences input;
  std::vector<std::int64_t> masked;  // the rows of tokens that are to be predicted, ascending
  torch::Tensor labels_K;            // int64: what stood there
  torch::Tensor relations_B;  // int64: 0 where the second part follows the first, else 1; undefined without pairs
  std::vector<std::int64_t> lines = {};  // of the text, where each sequence begins
};

// Concatenates sentences; `begin` and `end` are put around each where they are not negative.
Sequences concatenate(const std::vector<std::span<const std::int32_t>>& sentences, std::int32_t begin,
                      std::int32_t end);

}  // namespace attend
