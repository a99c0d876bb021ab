#include "models/language/families.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "core/error.hpp"
#include "models/ops/padded.hpp"

namespace attend {

using torch::Tensor;

namespace {

// The keys and values of all that R hypotheses have read.
struct CausalState final : DecoderState {
  KeyValueCache cache;

  void select(std::span<const std::int64_t> rows) override { cache.select(rows); }
};

EmbeddingConfig table(const StackOptions& options, std::int64_t rows, bool sinusoids = false) {
  return {.vocabulary = rows, .width = *options.width, .deviation = options.deviation(), .sinusoids = sinusoids};
}

// As in GPT-2 and PyTorch.
StackForm form_of(const StackOptions& options, bool hybrid) {
  StackForm form{.kind = hybrid ? StackKind::hybrid : StackKind::language};
  const std::int64_t sums = *options.layers * (*options.block.feed_forward > 0 ? 2 : 1);
  if (options.block.residual) form.branch_scale = 1 / std::sqrt(static_cast<double>(sums));
  return form;
}

}  // namespace

CausalTransformerImpl::CausalTransformerImpl(const StackOptions& options, std::int64_t vocabulary, std::int64_t memory,
                                             bool hybrid)
    : options_(options),
      memory_(memory),
      hybrid_(hybrid),
      embedding_(register_module("embedding", Embedding(table(options, vocabulary)))),
      positions_(*this, options.block.positions, "position_embedding",
                 table(options, options.max_positions, options.initial_positions == InitialPositions::sinusoids),
                 options.deviation() * std::numbers::sqrt2),
      decoder_(register_module("decoder", Stack(options, form_of(options, hybrid)))) {}

std::optional<std::int64_t> CausalTransformerImpl::longest() const {
  const bool has_table = have_tables(options_.block.positions, options_.block.self_attention);
  return has_table ? std::optional(options_.max_positions) : std::nullopt;
}

Tensor CausalTransformerImpl::embed(const Sequences& tokens, std::int64_t first, Pass& pass) const {
  return embedding_->forward(tokens, 1, positions_.rows(first, tokens.layout.max_length),
                             pass.dropout(options_.dropout));
}

std::vector<Tensor> CausalTransformerImpl::beginning(std::int64_t rows) const {
  std::vector<Tensor> parts;
  if (memory_ == 0) return parts;
  const at::TensorOptions options = embedding_->weight.working().options().requires_grad(false);
  for (std::int64_t layer = 0; layer < *options_.layers; ++layer) {
    parts.push_back(at::zeros({rows, memory_, *options_.width}, options));
  }
  parts.push_back(at::zeros({rows}, at::kFloat));
  return parts;
}

EarlierTokens CausalTransformerImpl::remembered(const std::vector<Tensor>& parts) const {
  ensure(std::ssize(parts) == *options_.layers + 1, "a memory of every layer, and its length");
  EarlierTokens earlier;
  for (const double known : ops::to_doubles(parts.back())) earlier.layout.append(static_cast<std::int64_t>(known));
  earlier.layout.max_length = memory_;  // of the padded parts
  const at::ScalarType type = embedding_->weight.working().scalar_type();
  for (const Tensor& part_BNH : std::span(parts).first(parts.size() - 1)) {
    earlier.hidden_MH.push_back(ops::unpad(part_BNH.to(type), earlier.layout));
  }
  return earlier;
}

std::vector<Tensor> CausalTransformerImpl::parts_of(const EarlierTokens& read) const {
  std::vector<std::int64_t> last;
  std::vector<float> known;
  for (std::int64_t b = 0; b < read.layout.size(); ++b) {
    const std::int64_t count = std::min(read.layout.length(b), memory_), end = read.layout.offsets[b + 1];
    for (std::int64_t row = end - count; row < end; ++row) last.push_back(row);
    known.push_back(static_cast<float>(count));
  }
  Selection kept = select(last, read.layout, read.hidden_MH.front().device());
  kept.layout.max_length = memory_;
  std::vector<Tensor> parts;
  for (const Tensor& hidden_MH : read.hidden_MH) parts.push_back(ops::pad(kept.of(hidden_MH), kept.layout));
  parts.push_back(at::tensor(known));
  return parts;
}

Tensor CausalTransformerImpl::forward(const Sequences& tokens, Pass& pass, Carried* carried) const {
  const Tensor x_MH = embed(tokens, 0, pass);
  if (carried == nullptr || memory_ == 0) return decoder_->forward(x_MH, {.layout = tokens.layout}, pass);
  EarlierTokens earlier = remembered(carried->parts.empty() ? beginning(tokens.layout.size()) : carried->parts);
  const Tensor hidden_MH = decoder_->forward(x_MH, {.layout = tokens.layout, .earlier = &earlier}, pass);
  carried->parts = parts_of(earlier);
  return hidden_MH;
}

Tensor CausalTransformerImpl::read_both_sides(const Sequences& tokens, Pass& pass,
                                              const std::optional<Selection>& selected) const {
  ensure(hybrid_, "a hybrid reads both sides");
  return decoder_->forward(embed(tokens, 0, pass),
                           {.layout = tokens.layout, .selected = selected ? &*selected : nullptr, .both_sides = true},
                           pass);
}

std::unique_ptr<DecoderState> CausalTransformerImpl::start(std::int64_t /*rows*/) const {
  auto state = std::make_unique<CausalState>();
  state->cache = KeyValueCache(*options_.layers);
  return state;
}

Tensor CausalTransformerImpl::step(DecoderState& state, const Tensor& previous_R, Pass& pass) const {
  KeyValueCache& cache = own<CausalState>(state).cache;
  const std::int64_t num_rows = previous_R.size(0);
  const Sequences tokens{.ids_M = previous_R, .layout = single_tokens(num_rows)};
  const Tensor x_RH = embed(tokens, cache.steps(), pass);
  cache.begin_step(num_rows);
  const Tensor hidden_RH = decoder_->forward(x_RH, {.layout = tokens.layout, .cache = &cache}, pass);
  return ops::logits(hidden_RH, output_table(), {});
}

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
