#include "models/translation/recurrent_seq2seq.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"

namespace attend {

using torch::Tensor;

void RecurrentState::select(std::span<const std::int64_t> rows) {
  const Tensor index = ops::to_tensor(rows, output_RH);
  for (CellState& layer : layers) layer = layer.select(index);
  output_RH = output_RH.index_select(0, index);
  if (context_RW.defined()) context_RW = context_RW.index_select(0, index);
  attention = attention.select(rows);
}

void RecurrentState::keep_first(std::int64_t count) {
  if (count == output_RH.size(0)) return;
  for (CellState& layer : layers) layer = layer.first(count);
  output_RH = output_RH.narrow(0, 0, count);
  if (context_RW.defined()) context_RW = context_RW.narrow(0, 0, count);
  attention.keep_first(count);
}

StepDropout::StepDropout(std::span<const DropoutPlace> places, const ops::Steps& steps, const Tensor& like) {
  const Tensor rows = ops::to_tensor(steps.rows, like);
  for (const auto& [dropout, width] : places) {
    Tensor& mask = masks_.emplace_back();
    if (dropout.rate == 0) continue;
    const Tensor ones = at::ones({rows.size(0), width}, like.options().requires_grad(false));
    mask = ops::dropout(ones, dropout).index_select(0, rows);
  }
}

Tensor StepDropout::operator()(std::size_t place, const Tensor& x) const {
  if (place >= masks_.size() || !masks_[place].defined()) return x;
  return x * masks_[place].narrow(0, first_, count_);
}

namespace {

// Joins the samples of hard attention of all steps, in the order of target tokens; `packed` as in ops::Steps.
SampledChoices of_sentences(const std::vector<SampledChoices>& steps, const Tensor& packed) {
  const auto whole = [&](Tensor SampledChoices::*part) {
    std::vector<Tensor> rows;
    for (const SampledChoices& step : steps) rows.push_back(step.*part);
    return at::cat(rows).index_select(0, packed);
  };
  return {whole(&SampledChoices::log_probability_R), whole(&SampledChoices::entropy_R)};
}

}  // namespace

RecurrentSeq2SeqImpl::RecurrentSeq2SeqImpl(const RecurrentConfig& config, std::int64_t bridge_width,
                                           std::int64_t decoder_input, std::optional<Attention> attention)
    : config_(config), attention_(std::move(attention)) {
  ensure(!config.tie_embeddings || config.src_vocabulary == config.tgt_vocabulary,
         "tied tables have the same vocabulary");
  const auto table = [&](const std::string& name, std::int64_t vocabulary) {
    return register_module(name, Embedding(EmbeddingConfig{.vocabulary = vocabulary, .width = config.width}));
  };
  tgt_embedding_ = table(config.tie_embeddings ? "embedding" : "tgt_embedding", config.tgt_vocabulary);
  src_embedding_ = config.tie_embeddings ? tgt_embedding_ : table("src_embedding", config.src_vocabulary);
  encoder_ = register_module("encoder", Recurrence(RecurrenceConfig{.cell = config.cell,
                                                                    .input = config.width,
                                                                    .hidden = config.encoder_width,
                                                                    .layers = config.encoder_layers,
                                                                    .reading = config.reading}));
  for (std::int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    std::vector<Linear>& bridge = bridges_.emplace_back();
    for (const StatePart& part : state_parts(config.cell)) {
      bridge.push_back(register_module("bridge_" + std::string(part.name) + "_l" + std::to_string(layer),
                                       Linear(LinearConfig{.in = bridge_width, .out = config.width})));
    }
  }
  if (attention_) attention_->register_in(*this);
  decoder_ = register_module(
      "decoder",
      Recurrence(RecurrenceConfig{
          .cell = config.cell, .input = decoder_input, .hidden = config.width, .layers = config.decoder_layers}));
}

std::optional<std::int64_t> RecurrentSeq2SeqImpl::longest_source() const {
  return attention_ ? attention_->longest_source() : std::nullopt;
}

std::string RecurrentSeq2SeqImpl::unfused_option() const {
  return attention_ ? attention_->fused_sequence().unsupported : std::string();
}

Tensor RecurrentSeq2SeqImpl::step_cells(Tensor x, RecurrentState& state, const StepDropout& dropout,
                                        std::size_t between) const {
  for (std::size_t l = 0; l < state.layers.size(); ++l) {
    if (l > 0) x = dropout(between + l - 1, x);
    state.layers[l] = ops::cell_step(x, state.layers[l], decoder_->cells()[l]);
    x = state.layers[l].hidden();
  }
  return x;
}

std::vector<DropoutPlace> RecurrentSeq2SeqImpl::dropout_places(Pass& pass) const {
  std::vector<std::int64_t> widths = dropout_widths();
  widths.insert(widths.end(), config_.decoder_layers - 1, config_.width);
  std::vector<DropoutPlace> places;
  for (const std::int64_t width : widths) places.push_back({pass.dropout(config_.dropout), width});
  return places;
}

void RecurrentSeq2SeqImpl::prepare(const RecurrenceOutput& read, RecurrentMemory& memory) const {
  const auto of = [&](StateKind kind) {
    return kind == StateKind::hidden ? read.output_MC : read.memory_MC.to(read.output_MC.scalar_type());
  };
  memory.keys = {.keys_SA = attention_->score().prepare(of(config_.keys)),
                 .values_SW = of(config_.values),
                 .layout = memory.layout};
}

Tensor RecurrentSeq2SeqImpl::bridged(const std::vector<CellState>& last, std::size_t layer, std::size_t part) const {
  return last[std::min(layer, last.size() - 1)].parts[part];
}

std::shared_ptr<const Memory> RecurrentSeq2SeqImpl::encode(const Sequences& src, Pass& pass) const {
  const Tensor embedded_SE = src_embedding_->embed(src, {}, config_.dropout, config_.word_dropout, pass);
  const bool wants_memory = config_.keys == StateKind::cell || config_.values == StateKind::cell;
  const RecurrenceOutput read =
      encoder_->forward(embedded_SE, src.layout, config_.dropout, pass, /*start=*/{}, wants_memory);
  auto memory = std::make_shared<RecurrentMemory>();
  memory->layout = src.layout;
  prepare(read, *memory);
  const std::span<const StatePart> parts = state_parts(config_.cell);
  for (std::size_t layer = 0; layer < bridges_.size(); ++layer) {
    CellState& start = memory->start.emplace_back();
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const Tensor from = bridged(read.last, layer, p).to(embedded_SE.scalar_type());
      const Tensor part = bridges_[layer][p]->forward(from, parts[p].activation);
      start.parts.push_back(parts[p].fp32 ? part.to(at::kFloat) : part);
    }
  }
  return memory;
}

std::unique_ptr<DecoderState> RecurrentSeq2SeqImpl::start(const Memory& memory,
                                                          std::span<const std::int64_t> sentences) const {
  const auto& encoded = own<RecurrentMemory>(memory);
  auto state = std::make_unique<RecurrentState>();
  state->layers = encoded.start;
  state->output_RH = at::zeros_like(encoded.start[0].hidden());
  std::vector<std::int64_t> all(encoded.layout.size());
  std::iota(all.begin(), all.end(), 0);
  state->context_RW = encoded.context_BW;
  state->attention.memory = MemoryRows(encoded.keys, std::move(all));
  state->select(sentences);
  return state;
}

Tensor RecurrentSeq2SeqImpl::step(const Memory& /*memory*/, DecoderState& state, const Tensor& previous_R,
                                  Pass& pass) const {
  const Tensor embedded_RE = tgt_embedding_->forward({previous_R, {}}, tgt_embedding_->unit_scale(), {}, {});
  const Tensor hidden_RH = advance(embedded_RE, own<RecurrentState>(state), {}, pass);
  const Tensor& weights_RS = own<RecurrentState>(state).attention.weights_RS;
  if (pass.observer() != nullptr && weights_RS.defined()) {
    pass.observer()->on_attention(AttentionPlace::cross, 0, weights_RS.unsqueeze(1).unsqueeze(1));
  }
  return ops::logits(hidden_RH, output_table(), {});
}

Tensor RecurrentSeq2SeqImpl::forward(const Batch& batch, Pass& pass) const {
  const auto encoded = encode(batch.src, pass);
  const auto& memory = own<RecurrentMemory>(*encoded);
  const Tensor embedded_ME = tgt_embedding_->embed(batch.tgt, {}, config_.dropout, config_.word_dropout, pass);
  const std::vector<DropoutPlace> places = dropout_places(pass);
  if (!pass.needs_weights(AttentionPlace::cross, 0) && pass.predicted_share() == 0 &&
      ops::may_fuse_sequences(embedded_ME)) {
    const Tensor output_MH = fused(embedded_ME, batch.tgt.layout, memory, places);
    if (output_MH.defined()) return output_MH;
  }
  return unrolled(embedded_ME, batch.tgt.layout, memory, places, pass);
}

Tensor RecurrentSeq2SeqImpl::with_own_words(const Tensor& embedded_RE, const Tensor& output_QH, Pass& pass) const {
  const std::int64_t count = embedded_RE.size(0);  // the rows of the previous step that continue
  const Tensor logits_RV = ops::logits(output_QH.detach().narrow(0, 0, count), output_table(), {});
  const Tensor own_RE =
      tgt_embedding_->embed({logits_RV.argmax(1), {}}, {}, config_.dropout, config_.word_dropout, pass);
  RandomStream random = pass.random();
  std::vector<std::int64_t> own_rows;
  for (std::int64_t row = 0; row < count; ++row) {
    if (random.uniform() < pass.predicted_share()) own_rows.push_back(row);
  }
  const Tensor index = ops::to_tensor(own_rows, embedded_RE);
  return embedded_RE.index_copy(0, index, own_RE.index_select(0, index));
}

Tensor RecurrentSeq2SeqImpl::unrolled(const Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                                      std::span<const DropoutPlace> places, Pass& pass) const {
  if (target.num_tokens() == 0) return at::zeros({0, config_.width}, embedded_ME.options());
  const ops::Steps steps(target);
  const auto started = start(memory, steps.order);
  auto& state = own<RecurrentState>(*started);
  StepDropout dropout(places, steps, embedded_ME);
  const bool observed = pass.observes_attention(AttentionPlace::cross, 0);
  std::vector<Tensor> weights, queries;  // [step]: [R, S] and [R, H], if the model has attention
  std::vector<std::int64_t> counts;
  for (std::int64_t t = 0; t < steps.size(); ++t) counts.push_back(steps.count(t));
  std::vector<Tensor> embedded =
      embedded_ME.index_select(0, ops::to_tensor(steps.rows, embedded_ME)).split_with_sizes(counts);
  std::vector<Tensor> outputs;
  std::vector<std::vector<Tensor>> hidden(pass.observes_hidden() ? state.layers.size() : 0);  // [layer][step]
  std::vector<SampledChoices> sampled;
  for (std::int64_t t = 0; t < steps.size(); ++t) {
    state.keep_first(counts[t]);
    dropout.move_to(steps.begin[t], counts[t]);
    if (t > 0 && pass.predicted_share() > 0) embedded[t] = with_own_words(embedded[t], outputs.back(), pass);
    outputs.push_back(advance(embedded[t], state, dropout, pass));
    if (observed && state.attention.weights_RS.defined()) {
      weights.push_back(state.attention.weights_RS);
      queries.push_back(state.attention.query_RH);
    }
    for (std::size_t l = 0; l < hidden.size(); ++l) hidden[l].push_back(state.layers[l].hidden());
    if (state.attention.sampled.entropy_R.defined()) sampled.push_back(state.attention.sampled);
  }
  const Tensor packed = ops::to_tensor(steps.packed, embedded_ME);
  if (!weights.empty()) {
    const auto padded = [&](const std::vector<Tensor>& rows) {  // with one head
      return ops::pad(at::cat(rows).index_select(0, packed), target).unsqueeze(1);
    };
    const Tensor weights_BNTS = padded(weights);
    pass.observer()->on_attention(AttentionPlace::cross, 0, weights_BNTS);
    if (pass.observer()->wants_operands()) {
      pass.observer()->on_operands(AttentionPlace::cross, 0,
                                   attention_->operands(padded(queries), weights_BNTS, memory.keys));
    }
  }
  if (!hidden.empty()) pass.observer()->on_hidden(AttentionPlace::decoder, 0, embedded_ME);
  for (std::size_t l = 0; l < hidden.size(); ++l) {
    pass.observer()->on_hidden(AttentionPlace::decoder, static_cast<std::int64_t>(l) + 1,
                               at::cat(hidden[l]).index_select(0, packed));
  }
  if (pass.sampled() != nullptr && !sampled.empty()) *pass.sampled() = of_sentences(sampled, packed);
  return at::cat(outputs).index_select(0, packed);
}

}  // namespace attend
