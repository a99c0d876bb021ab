#include "models/translation/rnn_seq2seq.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"

namespace attend {
namespace {

using torch::Tensor;

class RnnMemory : public Memory {
 public:
  Keys keys;
  std::vector<ops::LstmState> start;  // of each decoder layer, a row a sentence
};

class RnnState : public DecoderState {
 public:
  void select(std::span<const std::int64_t> rows) override {
    const Tensor index =
        at::tensor(std::vector<std::int64_t>(rows.begin(), rows.end()), at::kLong).to(attentional_RH.device());
    for (ops::LstmState& layer : layers) {
      layer = {layer.hidden.index_select(0, index), layer.cell.index_select(0, index)};
    }
    attentional_RH = attentional_RH.index_select(0, index);
    std::vector<std::int64_t> kept;
    for (const std::int64_t row : rows) kept.push_back(sentences[row]);
    sentences = std::move(kept);
  }

  std::vector<ops::LstmState> layers;
  Tensor attentional_RH;                // h~ of the step before
  std::vector<std::int64_t> sentences;  // which each row reads
};

}  // namespace

RnnSeq2SeqImpl::RnnSeq2SeqImpl(const RnnSeq2SeqConfig& config, std::shared_ptr<GeneralAttention> attention)
    : config_(config),
      embedding_scale_(std::sqrt(static_cast<double>(config.width))),
      attention_(std::move(attention)) {
  const std::int64_t width = config.width, memory = config.bidirectional ? 2 * width : width;
  tgt_embedding_ = register_module(config.tie_embeddings ? "embedding" : "tgt_embedding",
                                   Embedding(EmbeddingConfig{.vocabulary = config.tgt_vocabulary, .width = width}));
  src_embedding_ = tgt_embedding_;
  if (!config.tie_embeddings) {
    src_embedding_ = register_module("src_embedding",
                                     Embedding(EmbeddingConfig{.vocabulary = config.src_vocabulary, .width = width}));
  }
  ensure(!config.tie_embeddings || config.src_vocabulary == config.tgt_vocabulary, "tied tables are of one vocabulary");
  encoder_ = register_module(
      "encoder",
      Lstm(LstmConfig{
          .input = width, .hidden = width, .layers = config.encoder_layers, .bidirectional = config.bidirectional}));
  for (std::int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    const auto bridge = [&](const std::string& name) {
      return register_module(name + std::to_string(layer), Linear(LinearConfig{.in = memory, .out = width}));
    };
    bridge_hidden_.push_back(bridge("bridge_hidden_l"));
    bridge_cell_.push_back(bridge("bridge_cell_l"));
  }
  register_module("attention", attention_);
  decoder_ = register_module("decoder", Lstm(LstmConfig{.input = config.input_feeding ? 2 * width : width,
                                                        .hidden = width,
                                                        .layers = config.decoder_layers}));
  combine_ = register_module("combine", Linear(LinearConfig{.in = memory + width, .out = width, .bias = false}));
}

std::shared_ptr<const Memory> RnnSeq2SeqImpl::encode(const Sequences& src, Pass& pass) const {
  const Tensor embedded = src_embedding_->forward(src, embedding_scale_, {}, pass.dropout(config_.dropout));
  const auto [output, last] = encoder_->forward(embedded, src.layout, config_.dropout, pass);
  auto memory = std::make_shared<RnnMemory>();
  memory->layout = src.layout;
  memory->keys = attention_->prepare(output, src.layout);
  for (std::size_t layer = 0; layer < bridge_hidden_.size(); ++layer) {
    const ops::LstmState& from = last[std::min(layer, last.size() - 1)];
    const Tensor cell = bridge_cell_[layer]->forward(from.cell.to(from.hidden.scalar_type()));
    memory->start.push_back({bridge_hidden_[layer]->forward(from.hidden, ops::Activation::tanh), cell.to(at::kFloat)});
  }
  return memory;
}

std::unique_ptr<DecoderState> RnnSeq2SeqImpl::start(const Memory& memory,
                                                    std::span<const std::int64_t> sentences) const {
  const auto& read = static_cast<const RnnMemory&>(memory);
  auto state = std::make_unique<RnnState>();
  state->layers = read.start;
  state->attentional_RH = at::zeros_like(read.start[0].hidden);
  state->sentences.resize(read.layout.size());
  for (std::int64_t b = 0; b < read.layout.size(); ++b) state->sentences[b] = b;
  state->select(sentences);
  return state;
}

Tensor RnnSeq2SeqImpl::step(const Memory& memory, DecoderState& state, const Tensor& previous_R, Pass& /*pass*/) const {
  const auto& read = static_cast<const RnnMemory&>(memory);
  auto& rnn = static_cast<RnnState&>(state);
  Tensor x = tgt_embedding_->forward({previous_R, {}}, embedding_scale_, {}, {});
  if (config_.input_feeding) x = at::cat({x, rnn.attentional_RH}, 1);
  for (std::size_t layer = 0; layer < rnn.layers.size(); ++layer) {
    rnn.layers[layer] = ops::lstm_step(x, rnn.layers[layer], decoder_->cells()[layer]);
    x = rnn.layers[layer].hidden;
  }
  const Attended attended = attention_->attend(x, read.keys, {.sentences = rnn.sentences});
  rnn.attentional_RH = combine_->forward(at::cat({attended.context_RV, x}, 1), ops::Activation::tanh);
  return ops::linear(rnn.attentional_RH, tgt_embedding_->weight, {}).to(at::kFloat);
}

Tensor RnnSeq2SeqImpl::forward(const Batch& batch, Pass& pass) const {
  const auto memory = std::static_pointer_cast<const RnnMemory>(encode(batch.src, pass));
  const Tensor embedded = tgt_embedding_->forward(batch.tgt, embedding_scale_, {}, pass.dropout(config_.dropout));
  ops::AttentionDecoder decoder{.layers = decoder_->cells(),
                                .combine_HC = combine_->weight,
                                .input_feeding = config_.input_feeding,
                                .feed_dropout = pass.dropout(config_.dropout),
                                .layer_dropouts = {},
                                .combine_dropout = pass.dropout(config_.dropout)};
  for (std::int64_t layer = 1; layer < config_.decoder_layers; ++layer) {
    decoder.layer_dropouts.push_back(pass.dropout(config_.dropout));
  }
  return ops::attention_decoder(decoder, {.embedded_ME = embedded,
                                          .layout = batch.tgt.layout,
                                          .keys_SH = memory->keys.keys_SA,
                                          .values_SV = memory->keys.values_SV,
                                          .memory = memory->layout,
                                          .start = memory->start});
}

}  // namespace attend
