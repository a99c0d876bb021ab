// The families of language models: the Transformer, and recurrent layers.
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/recurrent.hpp"
#include "models/transformer/block.hpp"
#include "models/transformer/positions.hpp"

namespace attend {

using torch::Tensor;

namespace {

// The keys and values of all that R hypotheses have read.
struct CausalState final : DecoderState {
  KeyValueCache cache;

  void select(std::span<const std::int64_t> rows) override { cache.select(rows); }
};

// As in GPT-2 and PyTorch.
StackForm form_of(const StackOptions& options, bool hybrid) {
  StackForm form{.kind = hybrid ? StackKind::hybrid : StackKind::language};
  const std::int64_t sums = *options.layers * (*options.block.feed_forward > 0 ? 2 : 1);
  if (options.block.residual) form.branch_scale = 1 / std::sqrt(static_cast<double>(sums));
  return form;
}

// A Transformer as a language model (GPT: Radford et al. 2018; GPT-2: 2019): blocks (models/transformer/block.hpp) in
// which a token sees itself and those before it, over token and position embeddings. The output table is the embedding
// table.
//
//   x_t = dropout(E[token_t] + P[t]),  h = blocks(x),  logits_t = h_t Eᵀ
//
// With a memory of N positions (Transformer-XL, Dai et al. 2019, arXiv 1901.02860, section 3.2), a segment of a stream
// also attends to the N positions before it: to the input of each layer there, without a gradient. Positions are then
// encoded by distances, which do not depend on where a segment begins. A text that is read alone or generated is one
// segment of any length, so each token attends to all that precede it.
//
// GPT-2 has a norm before each sub-layer and after the last block (--norm pre), GPT one after each sub-layer (post).
//
// A hybrid (GPT-BERT, Charpentier and Samuel 2024, arXiv 2410.24159, section 2) also reads sequences in which all
// tokens see each other, with the same parameters: an encoder. What is missing at place i is predicted from h_{i-1}, as
// the next token is from left to right, so that one output serves both (masked next-token prediction):
//
//   causal       </s>   the    dog    barks      each state sees those before it and itself
//   predicted    the    dog    barks  loudly
//
//   both sides   [CLS]  the  [MASK]   barks  [SEP]      the state of "the" sees "barks" as well
//   predicted           dog
//
// Modules: `embedding`, `position_embedding` and the stack `decoder`.
//
// Legend: docs/architecture.md; N the memory.
class CausalTransformerImpl final : public LanguageModelImpl {
 public:
  // `options`: resolved, with embeddings as wide as the blocks. `memory`: N; 0: none.
  CausalTransformerImpl(const StackOptions& options, std::int64_t vocabulary, std::int64_t memory, bool hybrid)
      : options_(options),
        memory_(memory),
        hybrid_(hybrid),
        embedding_(register_module("embedding", Embedding(unscaled_table(options, vocabulary)))),
        positions_(unscaled_positions(*this, "position_embedding", options)),
        decoder_(register_module("decoder", Stack(options, form_of(options, hybrid)))) {}

  Tensor forward(const Sequences& tokens, Pass& pass, Carried* carried) const override {
    const Tensor x_MH = embed(tokens, 0, pass);
    if (carried == nullptr || memory_ == 0) return decoder_->forward(x_MH, {.layout = tokens.layout}, pass);
    EarlierTokens earlier = remembered(carried->parts.empty() ? beginning(tokens.layout.size()) : carried->parts);
    const Tensor hidden_MH = decoder_->forward(x_MH, {.layout = tokens.layout, .earlier = &earlier}, pass);
    carried->parts = parts_of(earlier);
    return hidden_MH;
  }

  std::unique_ptr<DecoderState> start(std::int64_t /*rows*/) const override {
    auto state = std::make_unique<CausalState>();
    state->cache = KeyValueCache(*options_.layers);
    return state;
  }

  Tensor step(DecoderState& state, const Tensor& previous_R, Pass& pass) const override {
    KeyValueCache& cache = own<CausalState>(state).cache;
    const std::int64_t num_rows = previous_R.size(0);
    const Sequences tokens{.ids_M = previous_R, .layout = single_tokens(num_rows)};
    const Tensor x_RH = embed(tokens, cache.steps(), pass);
    cache.begin_step(num_rows);
    const Tensor hidden_RH = decoder_->forward(x_RH, {.layout = tokens.layout, .cache = &cache}, pass);
    return ops::logits(hidden_RH, output_table(), {});
  }

  const ops::Weight& output_table() const override { return embedding_->weight; }

  std::optional<std::int64_t> longest() const override {
    const bool has_table = have_tables(options_.block.positions, options_.block.self_attention);
    return has_table ? std::optional(options_.max_positions) : std::nullopt;
  }

  bool is_hybrid() const override { return hybrid_; }

  Tensor read_both_sides(const Sequences& tokens, Pass& pass, const std::optional<Selection>& selected) const override {
    ensure(hybrid_, "a hybrid reads both sides");
    return decoder_->forward(embed(tokens, 0, pass),
                             {.layout = tokens.layout, .selected = selected ? &*selected : nullptr, .both_sides = true},
                             pass);
  }

  // With a memory: the input of each layer at the last positions, [rows, N, H], padded with zeros; then the number of
  // positions that are not padding, [rows], fp32, always on the CPU.
  std::vector<Tensor> beginning(std::int64_t rows) const override {
    std::vector<Tensor> parts;
    if (memory_ == 0) return parts;
    const at::TensorOptions options = embedding_->weight.working().options().requires_grad(false);
    for (std::int64_t layer = 0; layer < *options_.layers; ++layer) {
      parts.push_back(at::zeros({rows, memory_, *options_.width}, options));
    }
    parts.push_back(at::zeros({rows}, at::kFloat));
    return parts;
  }

 private:
  // Embeds tokens from position `first` of their texts.
  Tensor embed(const Sequences& tokens, std::int64_t first, Pass& pass) const {
    return embedding_->forward(tokens, 1, positions_.rows(first, tokens.layout.max_length),
                               pass.dropout(options_.dropout));
  }

  EarlierTokens remembered(const std::vector<Tensor>& parts) const {
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

  std::vector<Tensor> parts_of(const EarlierTokens& read) const {
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

  StackOptions options_;
  std::int64_t memory_;
  bool hybrid_;
  Embedding embedding_;
  AddedPositions positions_;
  Stack decoder_;
};

struct RecurrentTextState final : DecoderState {
  std::vector<CellState> layers;

  void select(std::span<const std::int64_t> rows) override {
    const Tensor index = ops::to_tensor(rows, layers.front().hidden());
    for (CellState& layer : layers) layer = layer.select(index);
  }
};

// A recurrent language model (Mikolov et al. 2010; with an LSTM Zaremba et al. 2014, arXiv 1409.2329): embeddings, a
// stack of recurrent layers of the same width, and the embedding table as output table (Press and Wolf 2017,
// 1608.05859).
//
//   s_t = cells(√H E[token_t], s_{t-1}),  logits_t = dropout(h_t) Eᵀ
//
// The state at the end of a segment starts the next segment of the stream, without a gradient: truncated
// backpropagation through time. Dropout is applied to the embeddings, between layers and to the output, not to the
// recurrent connections (1409.2329).
//
// Legend: docs/architecture.md.
class RecurrentLanguageImpl final : public LanguageModelImpl {
 public:
  // Of `options` the layers, the width and the dropout.
  RecurrentLanguageImpl(const StackOptions& options, std::int64_t vocabulary, CellKind cell)
      : options_(options),
        cell_(cell),
        embedding_(register_module("embedding",
                                   Embedding(EmbeddingConfig{.vocabulary = vocabulary, .width = *options.width}))),
        layers_(register_module(
            "layers",
            Recurrence(RecurrenceConfig{
                .cell = cell, .input = *options.width, .hidden = *options.width, .layers = *options.layers}))) {}

  Tensor forward(const Sequences& tokens, Pass& pass, Carried* carried) const override {
    const Tensor x_MH = embedding_->embed(tokens, {}, options_.dropout, /*words=*/0, pass);
    std::vector<CellState> start;
    if (carried != nullptr && !carried->parts.empty()) start = states_of(carried->parts);
    const RecurrenceOutput read = layers_->forward(x_MH, tokens.layout, options_.dropout, pass, start);
    if (carried != nullptr) {
      carried->parts.clear();
      for (const CellState& layer : read.last) {
        for (const Tensor& part : layer.parts) carried->parts.push_back(part.detach());
      }
    }
    return ops::dropout(read.output_MC, pass.dropout(options_.dropout));
  }

  std::unique_ptr<DecoderState> start(std::int64_t rows) const override {
    auto state = std::make_unique<RecurrentTextState>();
    state->layers = states_of(beginning(rows));
    return state;
  }

  Tensor step(DecoderState& state, const Tensor& previous_R, Pass& pass) const override {
    const Sequences tokens{.ids_M = previous_R, .layout = single_tokens(previous_R.size(0))};
    Tensor x_RH = embedding_->embed(tokens, {}, options_.dropout, /*words=*/0, pass);
    std::vector<CellState>& layers = own<RecurrentTextState>(state).layers;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      layers[l] = ops::cell_step(x_RH, layers[l], layers_->cells()[l]);
      x_RH = layers[l].hidden();
    }
    return ops::logits(x_RH, output_table(), {});
  }

  const ops::Weight& output_table() const override { return embedding_->weight; }

  // The parts of the state of each layer, from the bottom, [rows, H].
  std::vector<Tensor> beginning(std::int64_t rows) const override {
    std::vector<Tensor> parts;
    const at::TensorOptions options = embedding_->weight.working().options().requires_grad(false);
    for (std::int64_t layer = 0; layer < *options_.layers; ++layer) {
      for (const StatePart& part : state_parts(cell_)) {
        parts.push_back(at::zeros({rows, *options_.width}, part.fp32 ? options.dtype(at::kFloat) : options));
      }
    }
    return parts;
  }

 private:
  std::vector<CellState> states_of(const std::vector<Tensor>& parts) const {
    const auto kinds = state_parts(cell_);
    const std::size_t parts_of_layer = kinds.size(), layers = *options_.layers;
    const at::ScalarType type = embedding_->weight.working().scalar_type();
    ensure(parts.size() == parts_of_layer * layers, "every layer has a state");
    std::vector<CellState> states(layers);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      states[i / parts_of_layer].parts.push_back(parts[i].to(kinds[i % parts_of_layer].fp32 ? at::kFloat : type));
    }
    return states;
  }

  StackOptions options_;
  CellKind cell_;
  Embedding embedding_;
  Recurrence layers_;
};

CellKind kind_of(LanguageCell cell) {
  switch (cell) {
    case LanguageCell::gru: return CellKind::gru;
    case LanguageCell::tanh: return CellKind::tanh;
    case LanguageCell::lstm:
    case LanguageCell::transformer: break;
  }
  return CellKind::lstm;
}

// Throws UserError if a memory is combined with positions that are counted from the beginning of a segment.
void check_memory(const LanguageOptions& options) {
  if (options.memory == 0) return;
  const BlockOptions& block = options.stack.block;
  const std::string memory = "memory is " + std::to_string(options.memory) + ", but ";
  if (recipe_of(block.positions).is_added()) {
    throw UserError(memory + "positions is " + std::string(name_of(block.positions)) +
                        ", which counts from the beginning of each segment",
                    "choose --positions transformer-xl or others of distances, or drop --memory");
  }
  if (block.norm == NormPlace::pre && block.norm_kind == NormKind::batch) {
    throw UserError(memory + "norm-kind is batch, and with norm pre its statistics would count remembered tokens again",
                    "choose --norm-kind layer or rms, or --norm post, or drop --memory");
  }
  // A score that maps queries and keys depends on the angles of both, not on their difference alone.
  const ScoreKind score = block.score;
  if (recipe_of(block.positions).turns && !recipe_of(score).needs_equal_widths) {
    throw UserError(
        memory + "score is " + std::string(name_of(score)) + ", with which rotary positions are not those of distances",
        "choose --score scaled-dot or --positions transformer-xl, or drop --memory");
  }
  if (recipe_of(block.self_attention).has_table) {
    throw UserError(memory + "self-attention is " + std::string(name_of(block.self_attention)) +
                        ", whose table counts from the beginning of each segment",
                    "choose --self-attention attention, or drop --memory");
  }
}

}  // namespace

void check_language_options(const LanguageOptions& options) {
  if (options.is_recurrent()) return;
  const StackOptions stack = resolve_stack(options.stack, StackUse::causal);
  if (stack.embedding_width != stack.width) {
    throw UserError("embedding-width is " + std::to_string(*stack.embedding_width) +
                        ", but the output table of a language model is that of the embeddings, of width " +
                        std::to_string(*stack.width),
                    "drop it");
  }
  check_memory(options);
}

Tensor LanguageModelImpl::read_both_sides(const Sequences& /*tokens*/, Pass& /*pass*/,
                                          const std::optional<Selection>& /*selected*/) const {
  ensure(false, "a hybrid reads both sides");
  return {};
}

Tensor LanguageModelImpl::states_of_masked(const Sequences& tokens, std::vector<std::int64_t> masked,
                                           Pass& pass) const {
  for (std::int64_t& row : masked) --row;
  return read_both_sides(tokens, pass, select(masked, tokens.layout, tokens.ids_M.device()));
}

LanguageModel make_language_model(const LanguageOptions& options, std::int64_t vocabulary, PretrainingKind objective) {
  check_language_options(options);
  const StackOptions stack = sized(options.stack);
  const bool hybrid = objective == PretrainingKind::hybrid;
  if (!options.is_recurrent()) {
    return std::make_shared<CausalTransformerImpl>(stack, vocabulary, options.memory, hybrid);
  }
  ensure(!hybrid, "a hybrid is a Transformer");
  return std::make_shared<RecurrentLanguageImpl>(stack, vocabulary, kind_of(options.cell));
}

}  // namespace attend
