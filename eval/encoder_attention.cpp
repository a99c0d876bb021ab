#include "eval/encoder_attention.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <utility>

#include "data/batch/batch.hpp"
#include "eval/attention.hpp"

namespace attend {

EncoderAttention::EncoderAttention(const std::string& file, const Bert& bert, Tokenizer tokenizer)
    : bert_(bert), tokenizer_(std::move(tokenizer)), file_((refuse_existing(file, "--attention"), file)) {}

void EncoderAttention::add(const std::vector<EncoderSequence>& sequences) {
  if (sequences.empty()) file_.write("{\"source\":[],\"attention\":[]}");
  if (sequences.size() > 1) file_.write("{\"windows\":[");
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (i > 0) file_.write(",");
    write(sequences[i]);
  }
  file_.write(sequences.size() > 1 ? "]}\n" : "\n");
}

void EncoderAttention::write(const EncoderSequence& sequence) {
  const c10::InferenceMode inference;
  const torch::Device device = bert_->parameters().front().device();
  const auto length = std::ssize(sequence.ids);
  SegmentedSequences input{.tokens = concatenate({std::span(sequence.ids)}, -1, -1), .segments_M = {}};
  input.tokens.ids_M = input.tokens.ids_M.to(device);
  input.segments_M =
      at::arange(length, input.tokens.ids_M.options()).ge(static_cast<std::int64_t>(sequence.first)).to(at::kLong);
  AttentionRecorder recorder;
  Pass pass = Pass::inference(&recorder);
  bert_->forward(input, pass);
  AttendedPieces pieces;
  for (const std::int32_t id : sequence.ids) pieces.source.push_back(tokenizer_.piece(id));
  write_attention(file_, pieces, recorder.of_sentence(0, input.tokens.layout, {}));
}

}  // namespace attend
