#include "models/language/recurrent_language.hpp"

#include <ATen/ATen.h>

#include "core/error.hpp"
#include "models/ops/padded.hpp"

namespace attend {

using torch::Tensor;

namespace {

struct RecurrentTextState final : DecoderState {
  std::vector<CellState> layers;

  void select(std::span<const std::int64_t> rows) override {
    const Tensor index = ops::to_tensor(rows, layers.front().hidden());
    for (CellState& layer : layers) layer = layer.select(index);
  }
};

}  // namespace

RecurrentLanguageImpl::RecurrentLanguageImpl(const RecurrentLanguageConfig& config)
    : config_(config),
      embedding_(register_module("embedding",
                                 Embedding(EmbeddingConfig{.vocabulary = config.vocabulary, .width = config.width}))),
      layers_(register_module(
          "layers",
          Recurrence(RecurrenceConfig{
              .cell = config.cell, .input = config.width, .hidden = config.width, .layers = config.layers}))) {}

Tensor RecurrentLanguageImpl::embed(const Sequences& tokens, Pass& pass) const {
  return embedding_->forward(tokens, embedding_->unit_scale(), {}, pass.dropout(config_.dropout));
}

std::vector<Tensor> RecurrentLanguageImpl::beginning(std::int64_t rows) const {
  std::vector<Tensor> parts;
  const at::TensorOptions options = embedding_->weight.working().options().requires_grad(false);
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    for (const StatePart& part : state_parts(config_.cell)) {
      parts.push_back(at::zeros({rows, config_.width}, part.fp32 ? options.dtype(at::kFloat) : options));
    }
  }
  return parts;
}

std::vector<CellState> RecurrentLanguageImpl::states_of(const std::vector<Tensor>& parts) const {
  const auto kinds = state_parts(config_.cell);
  const std::size_t parts_of_layer = kinds.size();
  const at::ScalarType type = embedding_->weight.working().scalar_type();
  ensure(parts.size() == parts_of_layer * static_cast<std::size_t>(config_.layers), "every layer has a state");
  std::vector<CellState> states(static_cast<std::size_t>(config_.layers));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    states[i / parts_of_layer].parts.push_back(parts[i].to(kinds[i % parts_of_layer].fp32 ? at::kFloat : type));
  }
  return states;
}

Tensor RecurrentLanguageImpl::forward(const Sequences& tokens, Pass& pass, Carried* carried) const {
  const Tensor x_MH = embed(tokens, pass);
  std::vector<CellState> start;
  if (carried != nullptr && !carried->parts.empty()) start = states_of(carried->parts);
  const RecurrenceOutput read = layers_->forward(x_MH, tokens.layout, config_.dropout, pass, start);
  if (carried != nullptr) {
    carried->parts.clear();
    for (const CellState& layer : read.last) {
      for (const Tensor& part : layer.parts) carried->parts.push_back(part.detach());
    }
  }
  return ops::dropout(read.output_MC, pass.dropout(config_.dropout));
}

std::unique_ptr<DecoderState> RecurrentLanguageImpl::start(std::int64_t rows) const {
  auto state = std::make_unique<RecurrentTextState>();
  state->layers = states_of(beginning(rows));
  return state;
}

Tensor RecurrentLanguageImpl::step(DecoderState& state, const Tensor& previous_R, Pass& pass) const {
  Tensor x_RH = embed({.ids_M = previous_R, .layout = single_tokens(previous_R.size(0))}, pass);
  std::vector<CellState>& layers = own<RecurrentTextState>(state).layers;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    layers[l] = ops::cell_step(x_RH, layers[l], layers_->cells()[l]);
    x_RH = layers[l].hidden();
  }
  return ops::logits(x_RH, output_table(), {});
}

}  // namespace attend
