#include "data/batch/batch.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <numeric>
#include <optional>

#include "core/error.hpp"

namespace attend {

torch::Tensor copy_to(const torch::Tensor& x, torch::Device device) {
  return x.is_cpu() && device.is_cuda() ? x.pin_memory().to(device, /*non_blocking=*/true) : x.to(device);
}

const LayoutTensors& Layout::on(torch::Device device) const {
  LayoutTensors& t = *tensors;
  if (!t.offsets_B1.defined() || t.offsets_B1.device() != device) {
    const c10::InferenceMode training_may_follow(false);
    t.offsets_B1 = copy_to(torch::tensor(offsets, torch::kLong), device);
    t.int_offsets_B1.reset();
    const auto numbers = [&](std::int64_t count) { return torch::arange(count, t.offsets_B1.options()); };
    t.lengths_B = t.offsets_B1.diff();
    t.sentences_M = torch::repeat_interleave(t.lengths_B, std::optional(num_tokens()));
    t.places_M = numbers(num_tokens()) - t.offsets_B1.index_select(0, t.sentences_M);
    t.rows_M = t.sentences_M * max_length + t.places_M;
    t.padding_BT = numbers(max_length).ge(t.lengths_B.unsqueeze(1));
  }
  ensure(t.rows_M.size(0) == num_tokens() && t.padding_BT.sizes() == at::IntArrayRef({size(), max_length}),
         "a layout stays as it is once it has tensors");
  return t;
}

const torch::Tensor& Layout::int_offsets_on(torch::Device device) const {
  on(device);
  if (!tensors->int_offsets_B1.defined()) {
    const c10::InferenceMode training_may_follow(false);
    tensors->int_offsets_B1 = tensors->offsets_B1.to(torch::kInt);
  }
  return tensors->int_offsets_B1;
}

Layout single_tokens(std::int64_t sentences) {
  Layout layout{.offsets = std::vector<std::int64_t>(sentences + 1), .max_length = 1};
  std::iota(layout.offsets.begin(), layout.offsets.end(), 0);
  return layout;
}

Selection select(const std::vector<std::int64_t>& rows, const Layout& layout, torch::Device device) {
  ensure(std::ranges::is_sorted(rows) && (rows.empty() || rows.back() < layout.num_tokens()),
         "the rows are ascending and in the batch");
  Selection selection{.rows_K = copy_to(torch::tensor(rows, torch::kLong), device), .layout = {}};
  auto row = rows.begin();
  for (std::int64_t b = 0; b < layout.size(); ++b) {
    const auto next = std::lower_bound(row, rows.end(), layout.offsets[b + 1]);
    selection.layout.append(next - row);
    row = next;
  }
  return selection;
}

JoinedSentences::JoinedSentences(const Layout& of_first, const Layout& of_second, torch::Device device) {
  ensure(of_first.size() == of_second.size(), "both have the same number of sentences");
  for (std::int64_t b = 0; b < of_first.size(); ++b) layout.append(of_first.length(b) + of_second.length(b));
  rows_M_ = torch::cat({of_first.on(device).sentences_M, of_second.on(device).sentences_M}).argsort(/*stable=*/true);
  const torch::Tensor places = rows_M_.argsort();
  first = {.rows_K = places.slice(0, 0, of_first.num_tokens()), .layout = of_first};
  second = {.rows_K = places.slice(0, of_first.num_tokens()), .layout = of_second};
}

torch::Tensor JoinedSentences::joined(const torch::Tensor& first_M, const torch::Tensor& second_K) const {
  return torch::cat({first_M, second_K}).index_select(0, rows_M_);
}

std::vector<std::int64_t> first_rows(const Layout& layout) {
  return {layout.offsets.begin(), layout.offsets.end() - 1};
}

Sequences first_sentences(const Sequences& all, std::int64_t count) {
  Sequences first;
  for (std::int64_t b = 0; b < count; ++b) first.layout.append(all.layout.length(b));
  first.ids_M = all.ids_M.narrow(0, 0, first.layout.num_tokens());
  return first;
}

Sequences concatenate(const IdSpans& sentences, std::int32_t begin, std::int32_t end) {
  Sequences sequences;
  sequences.layout.offsets.reserve(sentences.size() + 1);
  for (const auto sentence : sentences) sequences.layout.append(std::ssize(sentence) + (begin >= 0) + (end >= 0));
  sequences.ids_M = torch::empty({sequences.layout.num_tokens()}, torch::kLong);
  auto* id = sequences.ids_M.data_ptr<std::int64_t>();
  for (const auto sentence : sentences) {
    if (begin >= 0) *id++ = begin;
    id = std::copy(sentence.begin(), sentence.end(), id);
    if (end >= 0) *id++ = end;
  }
  return sequences;
}

BatchIds batch_ids(const TokenizerPair& tokenizers) {
  return {.src_eos = tokenizers.src.special().eos,
          .tgt_bos = tokenizers.tgt.special().bos,
          .tgt_eos = tokenizers.tgt.special().eos};
}

Batch batch_of_pairs(const IdSpans& src, const IdSpans& tgt, const BatchIds& ids) {
  return {.src = concatenate(src, -1, ids.src_eos),
          .tgt = concatenate(tgt, ids.tgt_bos, -1),
          .labels_M = concatenate(tgt, -1, ids.tgt_eos).ids_M,
          .examples = {}};
}

namespace {

template <class T>
torch::Tensor tensor_of(const std::vector<T>& numbers, torch::ScalarType type) {
  return numbers.empty() ? torch::Tensor() : torch::tensor(numbers, type);
}

}  // namespace

LabelledBatch make_labelled_batch(std::span<const Sample* const> samples) {
  LabelledBatch batch;
  Layout& layout = batch.input.tokens.layout;
  std::vector<std::int64_t> ids, segments, label, begin, end, tag;
  std::vector<float> labels;
  std::vector<double> number;
  for (const Sample* sample : samples) {
    const auto first_row = std::ssize(ids);
    ids.insert(ids.end(), sample->ids.begin(), sample->ids.end());
    segments.resize(first_row + sample->first, 0);
    segments.resize(ids.size(), 1);
    layout.append(std::ssize(sample->ids));
    batch.examples.push_back(sample->example);

    if (sample->gold.label) label.push_back(*sample->gold.label);
    if (sample->gold.number) number.push_back(*sample->gold.number);
    labels.insert(labels.end(), sample->gold.labels.begin(), sample->gold.labels.end());
    if (sample->answer) {
      begin.push_back(sample->answer->begin);
      end.push_back(sample->answer->end);
    }
    tag.insert(tag.end(), sample->tags.begin(), sample->tags.end());
    for (const std::uint32_t word : sample->words) batch.words.push_back(first_row + word);
  }
  batch.input.tokens.ids_M = torch::tensor(ids, torch::kLong);
  batch.input.segments_M = torch::tensor(segments, torch::kLong);
  batch.label_B = tensor_of(label, torch::kLong);
  if (!labels.empty()) batch.labels_BL = torch::tensor(labels).view({std::ssize(samples), -1});
  batch.number_B = tensor_of(number, torch::kFloat);
  batch.begin_B = tensor_of(begin, torch::kLong);
  batch.end_B = tensor_of(end, torch::kLong);
  batch.tag_K = tensor_of(tag, torch::kLong);
  return batch;
}

}  // namespace attend
