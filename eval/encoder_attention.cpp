#include "eval/encoder_attention.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <span>
#include <utility>

#include "data/batch/batch.hpp"

namespace attend {

std::vector<std::vector<EncoderSequence>> sequences_of(const TaskSplit& split) {
  std::vector<std::vector<EncoderSequence>> sequences(static_cast<std::size_t>(split.size()));
  for (const Sample& sample : split.samples) {
    sequences[static_cast<std::size_t>(sample.example)].push_back({.ids = sample.ids, .first = sample.first});
  }
  return sequences;
}

SentenceAttention attention_of(const BertImpl& bert, const Tokenizer& tokenizer, const EncoderSequence& sequence) {
  const c10::InferenceMode inference;
  const torch::Device device = bert.parameters().front().device();
  const auto length = std::ssize(sequence.ids);
  SegmentedSequences input{.tokens = concatenate({std::span(sequence.ids)}, -1, -1), .segments_M = {}};
  input.tokens.ids_M = input.tokens.ids_M.to(device);
  input.segments_M =
      at::arange(length, input.tokens.ids_M.options()).ge(static_cast<std::int64_t>(sequence.first)).to(at::kLong);
  AttentionRecorder recorder;
  Pass pass = Pass::inference(&recorder);
  bert.forward(input, pass);
  SentenceAttention attention;
  for (const std::int32_t id : sequence.ids) attention.source.push_back(tokenizer.piece(id));
  attention.layers = recorder.of_sentence(0, input.tokens.layout, {});
  return attention;
}

EncoderAttention::EncoderAttention(const std::string& file, const Bert& bert, Tokenizer tokenizer)
    : bert_(bert), tokenizer_(std::move(tokenizer)), file_((refuse_existing(file, "--attention"), file)) {}

void EncoderAttention::add(const std::vector<EncoderSequence>& sequences) {
  write_record(file_, std::max<std::size_t>(sequences.size(), 1), [&](std::size_t i) {
    return sequences.empty() ? SentenceAttention{} : attention_of(*bert_, tokenizer_, sequences[i]);
  });
}

}  // namespace attend
