#include "eval/attention.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace attend {
namespace {

std::string json_of(const std::vector<std::string>& pieces) {
  return nlohmann::json(pieces).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// [[0.9,0.1],…]: six digits, the precision of fp32.
void append_matrix(std::string& text, const torch::Tensor& weights_TS) {
  const auto weights = weights_TS.accessor<float, 2>();
  for (std::int64_t t = 0; t < weights.size(0); ++t) {
    text += t == 0 ? "[[" : ",[";
    for (std::int64_t s = 0; s < weights.size(1); ++s) {
      if (s > 0) text += ',';
      if (std::isfinite(weights[t][s])) {
        fmt::format_to(std::back_inserter(text), "{:.6g}", weights[t][s]);
      } else {
        text += "null";
      }
    }
    text += ']';
  }
  text += weights.size(0) == 0 ? "[]" : "]";
}

void write_attention(AtomicFile& file, const SentenceAttention& sentence) {
  file.write(fmt::format("{{\"source\":{}", json_of(sentence.source)));
  if (sentence.target) file.write(fmt::format(",\"target\":{}", json_of(*sentence.target)));
  file.write(",\"attention\":[");
  bool first = true;
  for (const LayerAttention& layer : sentence.layers) {
    for (std::int64_t head = 0; head < layer.weights.size(0); ++head) {
      std::string text = fmt::format("{}{{\"place\":\"{}\",\"layer\":{},\"head\":{},\"weights\":", first ? "" : ",",
                                     name_of(layer.place), layer.layer, layer.first_head + head);
      append_matrix(text, layer.weights[head]);
      file.write(text + "}");
      first = false;
    }
  }
  file.write("]}");
}

}  // namespace

void AttentionRecorder::on_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) {
  if (place == only_.value_or(place))
    layers.push_back({.place = place, .layer = layer, .weights = weights_BNTS.detach().cpu()});
}

void AttentionRecorder::on_operands(AttentionPlace place, std::int64_t /*layer*/, const AttentionOperands& operands) {
  if (place == only_.value_or(place)) layers.back().operands = operands;
}

std::vector<LayerAttention> AttentionRecorder::of_sentence(std::int64_t b, const Layout& source,
                                                           const Layout& target) const {
  std::vector<LayerAttention> result;
  for (const LayerAttention& layer : layers) {
    const Layout& queries = layer.place == AttentionPlace::encoder ? source : target;
    const Layout& keys = layer.place == AttentionPlace::decoder ? target : source;
    LayerAttention& own = result.emplace_back(layer);
    own.weights = layer.weights[b].narrow(1, 0, queries.length(b)).narrow(2, 0, keys.length(b));
    own.sentence = b;
  }
  return result;
}

SentenceAttention attention_of(const BertImpl& bert, const Tokenizer& tokenizer, const Sample& sample, bool operands) {
  const c10::InferenceMode inference;
  const Sample* const samples[] = {&sample};
  const SegmentedSequences input = on_device(make_labelled_batch(samples), bert.parameters().front().device()).input;
  AttentionRecorder recorder({}, operands);
  Pass pass = Pass::inference(&recorder);
  bert.forward(input, pass);
  SentenceAttention attention;
  for (const std::int32_t id : sample.ids) attention.source.push_back(tokenizer.piece(id));
  attention.layers = recorder.of_sentence(0, input.tokens.layout, {});
  return attention;
}

SentenceAttention attention_of(const LanguageModelImpl& model, const Tokenizer& tokenizer,
                               std::span<const std::int32_t> ids, bool operands) {
  const c10::InferenceMode inference;
  const std::int32_t end = tokenizer.special().eos;
  const Sequences tokens = on_device(concatenate({ids}, end, -1), model.device());
  AttentionRecorder recorder({}, operands);
  Pass pass = Pass::inference(&recorder);
  model.forward(tokens, pass);
  SentenceAttention attention{.source = {}, .target = std::vector<std::string>(), .layers = {}};
  for (const std::int32_t id : ids) attention.target->push_back(tokenizer.piece(id));
  attention.target->push_back(tokenizer.piece(end));
  attention.layers = recorder.of_sentence(0, {}, tokens.layout);
  return attention;
}

void write_record(AtomicFile& file, std::size_t windows, const std::function<SentenceAttention(std::size_t)>& part) {
  if (windows > 1) file.write("{\"windows\":[");
  for (std::size_t i = 0; i < windows; ++i) {
    if (i > 0) file.write(",");
    write_attention(file, part(i));
  }
  file.write(windows > 1 ? "]}\n" : "\n");
}

}  // namespace attend
