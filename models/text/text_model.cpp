#include "models/text/text_model.hpp"

#include <limits>
#include <string>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "models/ops/ops.hpp"

namespace attend {

using torch::Tensor;

Head::Head(torch::nn::Module& model, const HeadConfig& config, std::int64_t outputs)
    : dropout_(config.dropout),
      pooler_(config.pooling
                  ? model.register_module("pooler", make_pooling(*config.pooling, config.width, config.deviation))
                  : nullptr),
      classifier_(model.register_module(
          "classifier",
          Linear(LinearConfig{.in = config.width, .out = outputs, .deviation = config.deviation, .is_output = true}))) {
}

std::optional<Selection> Head::selected(const LabelledBatch& batch) const {
  if (!pooler_ || !pooler_->reads_first()) return std::nullopt;
  const Sequences& tokens = batch.input.tokens;
  return select(first_rows(tokens.layout), tokens.layout, tokens.ids_M.device());
}

Tensor Head::logits(const Encoded& encoded, const SegmentedSequences& input, Pass& pass) const {
  const Tensor read_RH = pooler_ ? pooler_->forward(encoded, input, pass) : encoded.hidden_MH;
  return at::linear(ops::dropout(read_RH, pass.dropout(dropout_)).to(at::kFloat), classifier_->weight.master(),
                    classifier_->bias);
}

namespace {

constexpr std::int64_t kSum = at::Reduction::Sum;

std::optional<Tensor> if_defined(const Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

class ClassificationHead : public Head {
 public:
  ClassificationHead(torch::nn::Module& model, const HeadConfig& config) : Head(model, config, config.labels) {}

  Tensor loss(const Tensor& logits_BL, const LabelledBatch& batch, const Tensor& label_weights_L) const override {
    return at::cross_entropy_loss(logits_BL, batch.label_B, if_defined(label_weights_L), kSum);
  }
  Tensor predict(const Tensor& logits_BL) const override { return at::softmax(logits_BL, 1); }
};

class MultiLabelHead : public Head {
 public:
  MultiLabelHead(torch::nn::Module& model, const HeadConfig& config) : Head(model, config, config.labels) {}

  Tensor loss(const Tensor& logits_BL, const LabelledBatch& batch, const Tensor& label_weights_L) const override {
    return at::binary_cross_entropy_with_logits(logits_BL, batch.labels_BL, if_defined(label_weights_L), {}, kSum) /
           static_cast<double>(logits_BL.size(1));
  }
  Tensor predict(const Tensor& logits_BL) const override { return at::sigmoid(logits_BL); }
};

class RegressionHead : public Head {
 public:
  RegressionHead(torch::nn::Module& model, const HeadConfig& config) : Head(model, config, 1) {}

  Tensor loss(const Tensor& numbers_B1, const LabelledBatch& batch, const Tensor& /*label_weights*/) const override {
    return at::mse_loss(numbers_B1.squeeze(1), batch.number_B, kSum);
  }
  Tensor predict(const Tensor& numbers_B1) const override { return numbers_B1; }
};

class SpanHead : public Head {
 public:
  SpanHead(torch::nn::Module& model, const HeadConfig& config) : Head(model, config, 2) {}

  Tensor loss(const Tensor& logits_M2, const LabelledBatch& batch, const Tensor& /*label_weights*/) const override {
    const Layout& layout = batch.input.tokens.layout;
    return (nll(logits_M2.select(1, 0), batch.begin_B, layout) + nll(logits_M2.select(1, 1), batch.end_B, layout)) / 2;
  }
  Tensor predict(const Tensor& logits_M2) const override { return logits_M2; }

 private:
  // -log of the softmax over the tokens of each sequence, at `places_B`, summed over sequences.
  static Tensor nll(const Tensor& logits_M, const Tensor& places_B, const Layout& layout) {
    const Tensor& missing_BT = layout.on(logits_M.device()).padding_BT;
    const Tensor logits_BT =
        ops::pad(logits_M, layout).masked_fill(missing_BT, -std::numeric_limits<float>::infinity());
    return at::cross_entropy_loss(logits_BT, places_B, {}, kSum);
  }
};

class TagHead : public Head {
 public:
  TagHead(torch::nn::Module& model, const HeadConfig& config) : Head(model, config, config.labels) {}

  std::optional<Selection> selected(const LabelledBatch& batch) const override {
    const Sequences& tokens = batch.input.tokens;
    return select(batch.words, tokens.layout, tokens.ids_M.device());
  }

  Tensor loss(const Tensor& logits_KL, const LabelledBatch& batch, const Tensor& label_weights_L) const override {
    return at::cross_entropy_loss(logits_KL, batch.tag_K, if_defined(label_weights_L), kSum);
  }
  std::int64_t count(const LabelledBatch& batch) const override { return std::ssize(batch.words); }
  Tensor predict(const Tensor& logits_KL) const override { return at::softmax(logits_KL, 1); }
};

}  // namespace

std::unique_ptr<Head> make_head(torch::nn::Module& model, TaskKind kind, const HeadConfig& config) {
  switch (kind) {
    case TaskKind::classification: return std::make_unique<ClassificationHead>(model, config);
    case TaskKind::multi_label: return std::make_unique<MultiLabelHead>(model, config);
    case TaskKind::regression: return std::make_unique<RegressionHead>(model, config);
    case TaskKind::spans: return std::make_unique<SpanHead>(model, config);
    case TaskKind::tags: return std::make_unique<TagHead>(model, config);
  }
  return nullptr;
}

namespace {

Pooling chosen_pooling(const TextModelOptions& options, const LabelledTask& task) {
  const Pooling pooling = options.pooling_of_run();
  const std::string name = "--pooling " + std::string(name_of(pooling));
  if (pooling == Pooling::last && options.attends_to_both_sides()) {
    throw UserError(name + " needs an encoder that reads in a direction: " +
                        (options.model == TextEncoderKind::bert ? "BERT" : "a hybrid") + " has no last state",
                    "choose another pooling, or --model lstm");
  }
  if (pooling == Pooling::cls && options.model == TextEncoderKind::language) {
    throw UserError(name + " reads the state of the first token, which in a language model has not read the text",
                    "choose --pooling last");
  }
  if (pooling == Pooling::alignment && task.text.size() != 2) {
    throw UserError(name + " compares two texts, and the task reads one", "choose another --pooling");
  }
  return pooling;
}

}  // namespace

TextModelImpl::TextModelImpl(const TextModelOptions& options, const LabelledTask& task, std::int64_t vocabulary)
    : encoder_(make_text_encoder(*this, options, vocabulary)) {
  HeadConfig config{.width = encoder_->width(),
                    .labels = std::ssize(task.labels),
                    .deviation = encoder_->deviation(),
                    .dropout = options.head_dropout.value_or(options.encoder.dropout)};
  refuse_inapplicable(options, option_place, facts_of(task.kind));
  if (is_of_sequences(task.kind)) config.pooling = chosen_pooling(options, task);
  head_ = make_head(*this, task.kind, config);
}

torch::Tensor TextModelImpl::logits(const LabelledBatch& batch, Pass& pass) const {
  return head_->logits(encoder_->forward(batch.input, pass, head_->selected(batch)), batch.input, pass);
}

}  // namespace attend
