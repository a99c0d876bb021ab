#include "models/bert/bert.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/error.hpp"

namespace attend {

using ops::to_tensor;
using torch::Tensor;

namespace {

LinearConfig linear(const StackOptions& options, std::int64_t in, std::int64_t out, bool is_output = false) {
  return {.in = in, .out = out, .deviation = options.deviation(), .is_output = is_output};
}

}  // namespace

BertEmbeddingsImpl::BertEmbeddingsImpl(const StackOptions& options, std::int64_t vocabulary)
    : dropout_(options.dropout),
      word_embeddings_(register_module("word_embeddings", Embedding(unscaled_table(options, vocabulary)))),
      positions_(unscaled_positions(*this, "position_embeddings", options)),
      token_type_embeddings_(
          register_module("token_type_embeddings", Embedding(unscaled_table(options, kBertSegments)))),
      norm_(register_module("LayerNorm", LayerNorm(*options.embedding_width, kBertNormEps))) {
  if (options.embedding_width == options.width) return;
  projection_ = register_module("projection", Linear(linear(options, *options.embedding_width, *options.width)));
}

Tensor BertEmbeddingsImpl::forward(const SegmentedSequences& input, Pass& pass) const {
  const Tensor positions_TE = positions_.rows(0, input.tokens.layout.max_length);
  const Tensor words_ME = word_embeddings_->forward(input.tokens, 1, positions_TE, ops::Dropout{});
  const Tensor segments_ME = token_type_embeddings_->forward({input.segments_M, {}}, 1, {}, ops::Dropout{});
  const Tensor normed_ME = norm_->forward(segments_ME, words_ME, ops::Dropout{}, pass).norm;
  const Tensor dropped_ME = ops::dropout(normed_ME, pass.dropout(dropout_));
  return projection_ ? projection_->forward(dropped_ME) : dropped_ME;
}

BertImpl::BertImpl(const StackOptions& options, std::int64_t vocabulary, std::optional<std::int64_t> query)
    : options_(resolve_stack(options, query ? StackUse::permuted : StackUse::masked)),
      query_(query),
      embeddings_(register_module("embeddings", BertEmbeddings(options_, vocabulary))),
      encoder_(register_module("encoder", Stack(options_, StackForm{.norm_eps = kBertNormEps}))) {}

Tensor BertImpl::forward(const SegmentedSequences& input, Pass& pass, const std::optional<Selection>& selected) const {
  const Layout& layout = input.tokens.layout;
  ensure(layout.max_length <= options_.max_positions, "no sequence is longer than the model reads");
  return encoder_->forward(embeddings_->forward(input, pass),
                           {.layout = layout, .selected = selected ? &*selected : nullptr}, pass);
}

Tensor BertImpl::forward_queries(const SegmentedSequences& input, const Tensor& ranks_M, const Selection& queried,
                                 Pass& pass) const {
  ensure(query_.has_value(), "the model has queries");
  ensure(input.tokens.layout.max_length <= options_.max_positions, "no sequence is longer than the model reads");
  const TwoStreams streams(input.tokens.layout, queried, ranks_M);
  SegmentedSequences unknown = input;
  unknown.tokens.ids_M = at::full_like(input.tokens.ids_M, *query_);
  const Tensor tokens_MH = embeddings_->forward(input, pass);
  const Tensor queries_KH = queried.of(embeddings_->forward(unknown, pass));
  return encoder_->forward(streams.joined(tokens_MH, queries_KH),
                           {.layout = streams.layout, .selected = &streams.queries(), .streams = &streams}, pass);
}

MaskedLanguageHeadImpl::MaskedLanguageHeadImpl(const StackOptions& options, std::int64_t vocabulary)
    : bias(register_parameter("bias", torch::zeros({vocabulary}))),
      activation_(function_of(options.block.activation)),
      dense_(register_module("dense", Linear(linear(options, *options.width, *options.embedding_width)))),
      norm_(register_module("LayerNorm", LayerNorm(*options.embedding_width, kBertNormEps))) {}

Tensor MaskedLanguageHeadImpl::transform(const Tensor& hidden_KH) const {
  return norm_->forward(dense_->forward(hidden_KH, activation_));
}

ops::CrossEntropy MaskedLanguageHeadImpl::loss(const Tensor& hidden_KH, const ops::Weight& table,
                                               const Tensor& labels_K) const {
  return ops::cross_entropy(transform(hidden_KH), table, bias, labels_K, /*label_smoothing=*/0);
}

BertPoolerImpl::BertPoolerImpl(std::int64_t width, double deviation)
    : dense(register_module("dense", Linear(LinearConfig{.in = width, .out = width, .deviation = deviation}))) {}

Tensor BertPoolerImpl::forward(const Tensor& first_BH) const { return dense->forward(first_BH, ops::Activation::tanh); }

BertForPretrainingImpl::BertForPretrainingImpl(const StackOptions& options, std::int64_t vocabulary,
                                               std::optional<std::int64_t> query)
    : bert(register_module("bert", Bert(options, vocabulary, query))),
      pooler(register_module("pooler", BertPooler(*bert->options().width, bert->options().deviation()))),
      predictions(register_module("predictions", MaskedLanguageHead(bert->options(), vocabulary))),
      seq_relationship(register_module(
          "seq_relationship", Linear(linear(bert->options(), *bert->options().width, 2, /*is_output=*/true)))) {}

BertForPretrainingImpl::Losses BertForPretrainingImpl::forward(const PretrainingBatch& batch, Pass& pass) const {
  const Layout& layout = batch.input.tokens.layout;
  if (bert->query()) {
    const Selection queried = select(batch.masked, layout, batch.input.tokens.ids_M.device());
    const Tensor hidden_KH = bert->forward_queries(batch.input, batch.ranks_M, queried, pass);
    return {.masked = predictions->loss(hidden_KH, bert->table(), batch.labels_K), .sequence = {}};
  }
  const std::vector<std::int64_t> first =
      batch.relations_B.defined() ? first_rows(layout) : std::vector<std::int64_t>();
  std::vector<std::int64_t> read;
  std::ranges::set_union(first, batch.masked, std::back_inserter(read));
  const std::optional<Selection> selected = select(read, layout, batch.input.tokens.ids_M.device());
  const Tensor hidden_KH = bert->forward(batch.input, pass, selected);
  const auto states_of = [&](const std::vector<std::int64_t>& rows) {
    std::vector<std::int64_t> places(rows.size());
    std::ranges::transform(rows, places.begin(),
                           [&](std::int64_t row) { return std::ranges::lower_bound(read, row) - read.begin(); });
    return hidden_KH.index_select(0, to_tensor(places, hidden_KH));
  };
  Losses losses{.masked = predictions->loss(states_of(batch.masked), bert->table(), batch.labels_K), .sequence = {}};
  if (batch.relations_B.defined()) {
    const Tensor pooled_BH = pooler->forward(states_of(first));
    losses.sequence =
        ops::cross_entropy(pooled_BH, seq_relationship->weight, seq_relationship->bias, batch.relations_B, 0);
  }
  return losses;
}

Tensor BertForPretrainingImpl::states_of_masked(const SegmentedSequences& input, const Selection& masked,
                                                Pass& pass) const {
  const std::optional<std::int64_t> query = bert->query();
  if (!query) return bert->forward(input, pass, masked);
  return bert->forward_queries(input, input.tokens.ids_M.eq(*query).to(at::kLong), masked, pass);
}

}  // namespace attend
