// Batches as the models see them: sequences without padding, pairs, and labelled texts.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/task/samples.hpp"

namespace attend {

// Batches as the models see them: ragged, that is, sentences concatenated without padding.
//
// Legend: B sentences, M tokens in all. Two sentences of 3 and 2 tokens:
//   ids_M = [5 9 3 | 7 3],  offsets_B1 = [0 3 5],  max_length = 3

// The index tensors of a layout on one device; int64 unless another type is named. T is the length of the longest
// sentence.
struct LayoutTensors {
  torch::Tensor offsets_B1;
  torch::Tensor int_offsets_B1;  // the same as int32, of int_offsets_on
  torch::Tensor lengths_B;
  torch::Tensor sentences_M;  // the sentence of each token
  torch::Tensor places_M;     // its position in that sentence
  torch::Tensor rows_M;       // its row in the block of padded sentences, flattened to [B * T]
  torch::Tensor padding_BT;   // bool: true after the end of a sentence
};

// The sentences of a ragged tensor: sentence b is rows offsets[b] … offsets[b + 1] - 1.
struct Layout {
  std::vector<std::int64_t> offsets = {0};  // B + 1 numbers, non-decreasing, starting with 0
  std::int64_t max_length = 0;              // of the longest sentence
  // The cache of `on`, shared by copies.
  std::shared_ptr<LayoutTensors> tensors = std::make_shared<LayoutTensors>();

  // The tensors on `device`, cached for the device of the last call; from then on only append() may change the
  // sentences. Not thread-safe.
  const LayoutTensors& on(torch::Device device) const;
  // The offsets as int32, which kernels of a GPU read; cached with the others.
  const torch::Tensor& int_offsets_on(torch::Device device) const;

  std::int64_t size() const { return std::ssize(offsets) - 1; }
  std::int64_t num_tokens() const { return offsets.back(); }
  std::int64_t length(std::int64_t b) const { return offsets[b + 1] - offsets[b]; }
  void append(std::int64_t length) {
    offsets.push_back(num_tokens() + length);
    max_length = std::max(max_length, length);
    // Copies keep their tensors.
    if (tensors.use_count() > 1 || tensors->offsets_B1.defined()) tensors = std::make_shared<LayoutTensors>();
  }
};

// The layout of sentences of one token each.
Layout single_tokens(std::int64_t sentences);

// A subset of the tokens of a ragged batch, in order. Rows 1, 3 and 4 of the example above give
//   rows_K = [1 3 4],  layout.offsets = [0 1 3]
struct Selection {
  torch::Tensor rows_K;  // int64, on the model's device
  Layout layout;         // of the selected tokens

  torch::Tensor of(const torch::Tensor& x_MH) const { return x_MH.index_select(0, rows_K); }
};

// `rows`, in ascending order, index the tokens of `layout`.
Selection select(const std::vector<std::int64_t>& rows, const Layout& layout, torch::Device device);

// Two ragged batches as one: each sentence of the first is followed by that of the second. Sentences a0 a1, b0 and x0,
// y0 y1 become a0 a1 x0, b0 y0 y1.
struct JoinedSentences {
  // Both have the same number of sentences.
  JoinedSentences(const Layout& of_first, const Layout& of_second, torch::Device device);

  // The rows of both, in the order of `layout`.
  torch::Tensor joined(const torch::Tensor& first_M, const torch::Tensor& second_K) const;

  Layout layout;
  Selection first, second;  // of `layout`

 private:
  torch::Tensor rows_M_;  // the row of each token among those of the first, followed by those of the second
};

// The first row of every sentence; no sentence may be empty.
std::vector<std::int64_t> first_rows(const Layout& layout);

// Ragged sentences of token ids. `ids_M` is int64, on the model's device.
struct Sequences {
  torch::Tensor ids_M;
  Layout layout;
  std::vector<torch::Tensor*> tensors() { return {&ids_M}; }
};

// Targets of guided attention (train/translation/guided_attention.hpp): cells of the padded weights, flattened, and the
// weight that each should have.
struct GuidedCells {
  torch::Tensor cells_K = {};  // int64
  torch::Tensor shares_K = {};
};

// A translation batch. From `tgt` (bos y1 … yn) the decoder predicts `labels_M` (y1 … yn eos), row by row; src is
// (x1 … xm eos).
struct Batch {
  Sequences src;
  Sequences tgt;
  torch::Tensor labels_M;              // int64, one per token of tgt
  std::vector<std::int64_t> examples;  // numbers of its examples in the corpus
  // Undefined without guides.
  GuidedCells alignment = {};  // of target tokens to source tokens, [B, T, S]
  GuidedCells relations = {};  // of source tokens to source tokens, [B, S, S]
  std::int64_t num_labels() const { return labels_M.size(0); }
  std::vector<torch::Tensor*> tensors() {
    return {&src.ids_M,          &tgt.ids_M,         &labels_M,          &alignment.cells_K,
            &alignment.shares_K, &relations.cells_K, &relations.shares_K};
  }
};

// The first `count` sentences, as views.
Sequences first_sentences(const Sequences& all, std::int64_t count);

// Input of a BERT encoder: [CLS] a [SEP] or [CLS] a [SEP] b [SEP], with the segment (first or second part) of each
// token.
struct SegmentedSequences {
  Sequences tokens;
  torch::Tensor segments_M;  // int64: 0 or 1
};

// A pretraining batch (arXiv 1810.04805, section 3.1), of masked tokens or, if it has ranks, of tokens in a permuted
// order (1906.08237, section 2.2).
struct PretrainingBatch {
  SegmentedSequences input;
  std::vector<std::int64_t> masked;  // rows of the tokens to predict, ascending
  torch::Tensor labels_K;            // int64: their original ids
  torch::Tensor relations_B;         // int64: 0 if the second part follows the first, else 1; undefined without pairs
  torch::Tensor ranks_M = {};        // int64: when each token becomes known
  std::vector<std::int64_t> lines = {};  // of the text: the first line of each sequence
  std::vector<torch::Tensor*> tensors() {
    return {&input.tokens.ids_M, &input.segments_M, &labels_K, &relations_B, &ranks_M};
  }
};

// Segments of text for a language model, which predicts `labels_M`: the token after each. A hybrid also reads some as
// [CLS] segment [SEP], in which it predicts masked tokens.
struct LanguageBatch {
  Sequences tokens;
  torch::Tensor labels_M;                // int64
  std::int64_t lane = 0;                 // of continued segments (data/batch/sources.hpp)
  bool begins = true;                    // false: its rows continue those of the lane's previous batch
  std::vector<std::int64_t> lines = {};  // of the text: the first line of each segment, those of `masked` last
  PretrainingBatch masked = {};          // without segments; no sequences unless of a hybrid

  std::int64_t num_tokens() const { return tokens.layout.num_tokens() + masked.input.tokens.layout.num_tokens(); }
  std::vector<torch::Tensor*> tensors() {
    return {&tokens.ids_M, &labels_M, &masked.input.tokens.ids_M, &masked.labels_K};
  }
};

// x on a device. A copy to a GPU is queued behind the device's earlier work, from pinned memory, so nobody waits for
// it.
torch::Tensor copy_to(const torch::Tensor& x, torch::Device device);

// The batch, its tensors moved to a device.
template <class SomeBatch>
SomeBatch on_device(SomeBatch batch, torch::Device device) {
  for (torch::Tensor* tensor : batch.tensors()) {
    if (tensor->defined()) *tensor = copy_to(*tensor, device);
  }
  return batch;
}

// The ids of sentences.
using IdSpans = std::vector<std::span<const std::int32_t>>;

// Concatenates sentences; `begin` and `end` are added to each unless negative.
Sequences concatenate(const IdSpans& sentences, std::int32_t begin, std::int32_t end);

// The special ids in a translation batch: eos of the source, bos and eos of the target.
struct BatchIds {
  std::int32_t src_eos = 0;
  std::int32_t tgt_bos = 0;
  std::int32_t tgt_eos = 0;
};
BatchIds batch_ids(const TokenizerPair& tokenizers);

// A batch of sentence pairs, given without bos and eos, on the CPU.
Batch batch_of_pairs(const IdSpans& src, const IdSpans& tgt, const BatchIds& ids);

// Batches of labelled texts: samples as tensors.

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
