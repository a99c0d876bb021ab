#include "models/bert/text_model.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "models/ops/ops.hpp"

namespace attend {

using torch::Tensor;

namespace {

constexpr std::int64_t kSum = at::Reduction::Sum;

// Where a token may be the begin or end of an answer: anywhere in its sequence. [B, T] of fp32 logits.
Tensor padded_logits(const Tensor& logits_M, const Layout& layout) {
  const Tensor exists = ops::pad(at::ones_like(logits_M), layout);
  return ops::pad(logits_M, layout).masked_fill(exists.eq(0), -std::numeric_limits<float>::infinity());
}

Pooling chosen_pooling(const TextModelOptions& options, bool pairs) {
  const bool lstm = options.model == TextEncoderKind::lstm;
  const Pooling pooling = options.pooling_of_run();
  const std::string name = "--pooling " + std::string(name_of(pooling));
  if (pooling == Pooling::last && !lstm) {
    throw UserError(name + ": an encoder of BERT's kind does not stop anywhere", "choose another, or --model lstm");
  }
  if (pooling == Pooling::alignment && !pairs) {
    throw UserError(name + " compares two texts, and the task reads one", "choose another --pooling");
  }
  return pooling;
}

}  // namespace

LstmTextEncoderImpl::LstmTextEncoderImpl(const LstmTextConfig& config)
    : config_(config),
      embedding_(register_module("embedding",
                                 Embedding(EmbeddingConfig{.vocabulary = config.vocabulary, .width = config.width}))),
      layers_(register_module(
          "layers",
          Recurrence(RecurrenceConfig{
              .input = config.width, .hidden = config.width / 2, .layers = config.layers, .bidirectional = true}))) {}

Encoded LstmTextEncoderImpl::forward(const SegmentedSequences& input, Pass& pass) const {
  const double scale = std::sqrt(static_cast<double>(config_.width));
  const Tensor x_MH = embedding_->forward(input.tokens, scale, {}, pass.dropout(config_.dropout));
  const RecurrenceOutput read = layers_->forward(x_MH, input.tokens.layout, config_.dropout, pass);
  return {read.output_MD, read.last.back().hidden()};
}

std::vector<std::string_view> foreign_options(const TextModelOptions& options, TaskKind task) {
  std::vector<std::string_view> names;
  if (options.model == TextEncoderKind::lstm) {
    names = {"heads", "feed-forward", "embedding-width",   "positions",         "share-layers",
             "norm",  "gelu",         "attention-dropout", "initial-deviation", "initial-positions"};
  }
  if (!is_of_sequences(task)) names.push_back("pooling");
  return names;
}

TextModelImpl::TextModelImpl(const TextModelOptions& options, TaskKind task, std::int64_t outputs, bool pairs,
                             std::int64_t vocabulary)
    : task_(task), dropout_(options.head_dropout.value_or(options.encoder.dropout)) {
  refuse_changed(options, foreign_options(options, task),
                 "the model " + std::string(name_of(options.model)) + " for " + std::string(name_of(task)));
  std::int64_t width = 0;
  double deviation = 0;
  if (options.model == TextEncoderKind::bert) {
    const BertConfig config = bert_config(options.encoder, vocabulary);
    width = config.block.width;
    deviation = config.block.deviation;
    bert_ = register_module("bert", Bert(config));
  } else {
    width = width_of(options.encoder);
    if (width % 2 != 0)
      throw UserError("--width " + std::to_string(width) + ": an LSTM that reads both ways halves it", "make it even");
    lstm_ = register_module("lstm", LstmTextEncoder(LstmTextConfig{.vocabulary = vocabulary,
                                                                   .width = width,
                                                                   .layers = options.encoder.layers.value_or(1),
                                                                   .dropout = options.encoder.dropout}));
  }
  if (is_of_sequences(task)) {
    pooler_ = register_module("pooler", make_pooling(chosen_pooling(options, pairs), width, deviation));
  }
  classifier_ =
      register_module("classifier", Linear(LinearConfig{.in = width, .out = outputs, .deviation = deviation}));
}

std::optional<Selection> TextModelImpl::read_of(const LabelledBatch& batch) const {
  const auto& [ids_M, layout] = batch.input.tokens;
  if (task_ == TaskKind::tags) return select(batch.places, layout, ids_M.device());
  if (pooler_ && pooler_->reads_first()) return select(first_rows(layout), layout, ids_M.device());
  return std::nullopt;
}

Tensor TextModelImpl::answers(const LabelledBatch& batch, Pass& pass) const {
  const std::optional<Selection> wanted = read_of(batch);
  Encoded encoded;
  if (bert_) {
    encoded.hidden_MH = bert_->forward(batch.input, pass, wanted);
  } else {
    encoded = lstm_->forward(batch.input, pass);
    if (wanted) encoded.hidden_MH = wanted->of(encoded.hidden_MH);
  }
  const Tensor read = pooler_ ? pooler_->forward(encoded, batch.input) : encoded.hidden_MH;
  // In fp32 whatever the encoder computes in: a number is to have all its digits.
  const Tensor answers = at::linear(ops::dropout(read, pass.dropout(dropout_)).to(at::kFloat),
                                    classifier_->weight.master(), classifier_->bias);
  return task_ == TaskKind::regression ? answers.squeeze(1) : answers;
}

Tensor TextModelImpl::loss(const Tensor& answers, const LabelledBatch& batch, const Tensor& label_weights_L) const {
  const auto weights = label_weights_L.defined() ? std::optional(label_weights_L) : std::nullopt;
  switch (task_) {
    case TaskKind::classification:
    case TaskKind::tags:
      return at::cross_entropy_loss(answers, batch.labels, weights, kSum);
    case TaskKind::multi_label:
      return at::binary_cross_entropy_with_logits(answers, batch.labels, weights, {}, kSum) /
             static_cast<double>(answers.size(1));
    case TaskKind::regression:
      return at::mse_loss(answers, batch.labels, kSum);
    case TaskKind::spans: {
      const Layout& layout = batch.input.tokens.layout;
      const Tensor begin = padded_logits(answers.select(1, 0), layout),
                   end = padded_logits(answers.select(1, 1), layout);
      return (at::cross_entropy_loss(begin, batch.labels.select(1, 0), {}, kSum) +
              at::cross_entropy_loss(end, batch.labels.select(1, 1), {}, kSum)) /
             2;
    }
  }
  ensure(false, "a known task");
  return {};
}

std::int64_t TextModelImpl::count(const LabelledBatch& batch) const {
  return task_ == TaskKind::tags ? std::ssize(batch.places) : batch.input.tokens.layout.size();
}

}  // namespace attend
