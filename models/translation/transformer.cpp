#include "models/translation/transformer.hpp"

#include <utility>

#include "core/error.hpp"

namespace attend {

using torch::Tensor;

namespace {

struct TransformerMemory : Memory {
  DecoderMemory read;
};

struct TransformerState : DecoderState {
  std::vector<std::int64_t> sentences;  // which sentence of the memory each row reads
  KeyValueCache cache;

  void select(std::span<const std::int64_t> rows) override {
    std::vector<std::int64_t> chosen;
    for (const std::int64_t row : rows) chosen.push_back(sentences[row]);
    sentences = std::move(chosen);
    cache.select(rows);
  }
};

Embedding table(std::int64_t vocabulary, const StackOptions& stack) {
  return Embedding(EmbeddingConfig{.vocabulary = vocabulary, .width = *stack.width, .deviation = stack.deviation()});
}

// Learnt positions start with standard deviation H^-0.5, as in fairseq: small beside the scaled embeddings.
AddedPositions positions_of(torch::nn::Module& model, const char* name, const StackOptions& stack) {
  return {model, stack.block.positions, name,
          EmbeddingConfig{.vocabulary = stack.max_positions, .width = *stack.width, .deviation = stack.deviation()}};
}

}  // namespace

TransformerImpl::TransformerImpl(const TransformerConfig& config)
    : config_(config),
      tgt_embedding_(register_module("tgt_embedding", table(config.tgt_vocabulary, config.decoder))),
      src_embedding_(config.tie_embeddings
                         ? tgt_embedding_
                         : register_module("src_embedding", table(config.src_vocabulary, config.encoder))),
      output_bias_(config.output_bias ? register_parameter("output_bias", torch::zeros({config.tgt_vocabulary}))
                                      : Tensor()),
      encoder_(register_module(
          "encoder", Stack(config.encoder, StackForm{.kind = StackKind::encoder, .head_gates = config.head_gates}))),
      decoder_(register_module(
          "decoder", Stack(config.decoder, StackForm{.kind = StackKind::decoder, .head_gates = config.head_gates}))),
      src_positions_(positions_of(*this, "src_position_embedding", config.encoder)),
      tgt_positions_(recipe_of(config.decoder.block.positions).adds_table
                         ? positions_of(*this, "tgt_position_embedding", config.decoder)
                         : src_positions_) {}

Tensor TransformerImpl::embed(const Sequences& tokens, std::int64_t first, Pass& pass) const {
  return tgt_embedding_->embed(tokens, tgt_positions_.rows(first, tokens.layout.max_length), config_.decoder.dropout,
                               config_.word_dropout, pass);
}

std::shared_ptr<const Memory> TransformerImpl::encode(const Sequences& src, Pass& pass) const {
  const Tensor x_MH = src_embedding_->embed(src, src_positions_.rows(0, src.layout.max_length), config_.decoder.dropout,
                                            config_.word_dropout, pass);
  auto memory = std::make_shared<TransformerMemory>();
  memory->layout = src.layout;
  memory->read = decoder_->memory(encoder_->forward(x_MH, {.layout = src.layout}, pass), src.layout);
  return memory;
}

std::unique_ptr<DecoderState> TransformerImpl::start(const Memory& /*memory*/,
                                                     std::span<const std::int64_t> sentences) const {
  auto state = std::make_unique<TransformerState>();
  state->sentences.assign(sentences.begin(), sentences.end());
  state->cache = KeyValueCache(*config_.decoder.layers);
  return state;
}

Tensor TransformerImpl::step(const Memory& memory, DecoderState& state, const Tensor& previous_R, Pass& pass) const {
  auto& [sentences, cache] = own<TransformerState>(state);
  const std::int64_t rows = std::ssize(sentences);
  ensure(previous_R.size(0) == rows, "one previous token for every row");
  const Sequences tokens{.ids_M = previous_R, .layout = single_tokens(rows)};
  const Tensor x_RH = embed(tokens, cache.steps(), pass);
  cache.begin_step(rows);
  const Tensor hidden_RH = decoder_->forward(x_RH,
                                             {.layout = tokens.layout,
                                              .memory = &own<TransformerMemory>(memory).read,
                                              .cache = &cache,
                                              .sentences = sentences},
                                             pass);
  return ops::logits(hidden_RH, output_table(), output_bias());
}

Tensor TransformerImpl::forward(const Batch& batch, Pass& pass) const {
  const auto memory = encode(batch.src, pass);
  const Tensor x_MH = embed(batch.tgt, 0, pass);
  return decoder_->forward(x_MH, {.layout = batch.tgt.layout, .memory = &own<TransformerMemory>(*memory).read}, pass);
}

}  // namespace attend
