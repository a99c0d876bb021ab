#include "models/language/causal_transformer.hpp"

#include <numbers>

#include "core/error.hpp"

namespace attend {

using torch::Tensor;

namespace {

// The keys and values of all that R hypotheses have read.
struct CausalState final : DecoderState {
  KeyValueCache cache;
  std::int64_t num_rows = 0;

  void select(std::span<const std::int64_t> rows) override {
    num_rows = std::ssize(rows);
    cache.select(rows);
  }
};

EmbeddingConfig table(const CausalTransformerConfig& config, std::int64_t rows, bool sinusoids = false) {
  return {.vocabulary = rows,
          .width = config.block.width,
          .deviation = config.block.deviation,
          .sinusoids = sinusoids};
}

}  // namespace

CausalTransformerImpl::CausalTransformerImpl(const CausalTransformerConfig& config)
    : config_(config),
      embedding_(register_module("embedding", Embedding(table(config, config.vocabulary)))),
      positions_(make_positions(*this, config.block.positions, "position_embedding",
                                table(config, config.max_length, config.sinusoids),
                                config.block.deviation * std::numbers::sqrt2)),
      decoder_(register_module("decoder", Stack(config.layers, config.share_layers ? 1 : config.layers, config.block,
                                                StackKind::language))) {}

std::optional<std::int64_t> CausalTransformerImpl::longest() const {
  const bool has_table =
      recipe_of(config_.block.positions).adds_table || recipe_of(config_.block.self_attention).has_table;
  return has_table ? std::optional(config_.max_length) : std::nullopt;
}

Tensor CausalTransformerImpl::embed(const Sequences& tokens, std::int64_t first, Pass& pass) const {
  const Tensor positions_TH = positions_ ? positions_->rows(first, tokens.layout.max_length) : Tensor();
  return embedding_->forward(tokens, 1, positions_TH, pass.dropout(config_.block.dropout));
}

Tensor CausalTransformerImpl::forward(const Sequences& tokens, Pass& pass, Carried* /*carried*/) const {
  return decoder_->forward(embed(tokens, 0, pass), {.layout = tokens.layout}, pass);
}

std::unique_ptr<DecoderState> CausalTransformerImpl::start(std::int64_t rows) const {
  auto state = std::make_unique<CausalState>();
  state->cache = KeyValueCache(config_.layers);
  state->num_rows = rows;
  return state;
}

Tensor CausalTransformerImpl::step(DecoderState& state, const Tensor& previous_R, Pass& pass) const {
  KeyValueCache& cache = own<CausalState>(state).cache;
  const std::int64_t num_rows = own<CausalState>(state).num_rows;
  ensure(previous_R.size(0) == num_rows, "one token for every row");
  const Sequences tokens{.ids_M = previous_R, .layout = single_tokens(num_rows)};
  const Tensor x_RH = embed(tokens, cache.steps(), pass);
  cache.begin_step(num_rows);
  const Tensor hidden_RH = decoder_->forward(x_RH, {.layout = tokens.layout, .cache = &cache}, pass);
  return ops::logits(hidden_RH, output_table(), output_bias());
}

}  // namespace attend
