#include "models/text/encoder.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "core/error.hpp"
#include "models/layers/recurrent.hpp"

namespace attend {

using torch::Tensor;

bool TextEncoder::owns(std::string_view parameter) const {
  return parameter.starts_with(name_) && parameter.substr(name_.size()).starts_with('.');
}

std::optional<std::int64_t> TextEncoder::layer_of(std::string_view parameter) const {
  if (!owns(parameter)) return std::nullopt;
  const auto begins = [parameter](std::string_view prefix) { return parameter.starts_with(prefix); };
  if (std::ranges::any_of(embeddings_, begins)) return 0;
  const std::size_t found = parameter.rfind(before_layer_);
  if (found == std::string_view::npos) return std::nullopt;
  std::int64_t layer = 0;
  std::from_chars(parameter.data() + found + before_layer_.size(), parameter.data() + parameter.size(), layer);
  return layer + 1;
}

namespace {

class BertTextEncoder : public TextEncoder {
 public:
  BertTextEncoder(torch::nn::Module& model, const StackOptions& options, std::int64_t vocabulary)
      : TextEncoder("bert", {"bert.embeddings."}, "encoder.layers."),
        bert_(model.register_module("bert", Bert(options, vocabulary))) {}

  Encoded forward(const SegmentedSequences& input, Pass& pass,
                  const std::optional<Selection>& selected) const override {
    return {bert_->forward(input, pass, selected), {}};
  }
  std::int64_t width() const override { return *bert_->options().width; }
  double deviation() const override { return bert_->options().deviation(); }
  const ops::Weight& table() const override { return bert_->table(); }
  Bert bert() const override { return bert_; }

 private:
  Bert bert_;
};

// Embeddings and bidirectional LSTM layers, each direction of half the width.
class LstmTextEncoder : public TextEncoder {
 public:
  LstmTextEncoder(torch::nn::Module& model, const StackOptions& options, std::int64_t vocabulary)
      : TextEncoder("lstm", {"lstm.embedding."}, "_l"), width_(width_of(options)), dropout_(options.dropout) {
    if (width_ % 2 != 0) {
      throw UserError("--width " + std::to_string(width_) + " is odd, but a bidirectional LSTM halves it",
                      "choose an even width");
    }
    const auto lstm = model.register_module("lstm", std::make_shared<torch::nn::Module>());
    embedding_ =
        lstm->register_module("embedding", Embedding(EmbeddingConfig{.vocabulary = vocabulary, .width = width_}));
    layers_ = lstm->register_module(
        "layers",
        Recurrence(RecurrenceConfig{
            .input = width_, .hidden = width_ / 2, .layers = options.layers.value_or(1), .reading = Direction::both}));
  }

  Encoded forward(const SegmentedSequences& input, Pass& pass,
                  const std::optional<Selection>& selected) const override {
    const Tensor x_MH = embedding_->embed(input.tokens, {}, dropout_, /*words=*/0, pass);
    const RecurrenceOutput read = layers_->forward(x_MH, input.tokens.layout, dropout_, pass);
    return {selected ? selected->of(read.output_MC) : read.output_MC, read.last.back().hidden()};
  }
  std::int64_t width() const override { return width_; }
  const ops::Weight& table() const override { return embedding_->weight; }

 private:
  std::int64_t width_;
  double dropout_;
  Embedding embedding_ = nullptr;
  Recurrence layers_ = nullptr;
};

// A language model without its output: it reads [CLS] a [SEP] b [SEP] from left to right, so the state of a token
// depends on it and those before it, that of the last token on the whole text (GPT: Radford et al. 2018, section 3.2).
// A hybrid reads both sides.
class LanguageTextEncoder : public TextEncoder {
 public:
  LanguageTextEncoder(torch::nn::Module& model, const LanguageOptions& options, std::int64_t vocabulary,
                      PretrainingKind objective)
      : TextEncoder("language", {"language.embedding.", "language.position_embedding."},
                    options.is_recurrent() ? "_l" : "decoder.layers."),
        language_(model.register_module("language", make_language_model(options, vocabulary, objective))),
        deviation_(options.is_recurrent() ? 0 : options.stack.deviation()) {}

  Encoded forward(const SegmentedSequences& input, Pass& pass,
                  const std::optional<Selection>& selected) const override {
    if (language_->is_hybrid()) return {language_->read_both_sides(input.tokens, pass, selected), {}};
    const Tensor hidden_MH = language_->forward(input.tokens, pass);
    if (selected) return {selected->of(hidden_MH), {}};
    const Layout& layout = input.tokens.layout;
    return {hidden_MH, hidden_MH.index_select(0, layout.on(hidden_MH.device()).offsets_B1.slice(0, 1) - 1)};
  }
  std::int64_t width() const override { return language_->output_table().master().size(1); }
  double deviation() const override { return deviation_; }
  const ops::Weight& table() const override { return language_->output_table(); }

 private:
  LanguageModel language_;
  double deviation_;
};

}  // namespace

std::unique_ptr<TextEncoder> make_text_encoder(torch::nn::Module& model, const TextModelOptions& options,
                                               std::int64_t vocabulary) {
  const StackOptions& encoder = options.encoder;
  switch (options.model) {
    case TextEncoderKind::bert: return std::make_unique<BertTextEncoder>(model, encoder, vocabulary);
    case TextEncoderKind::lstm: return std::make_unique<LstmTextEncoder>(model, encoder, vocabulary);
    case TextEncoderKind::language:
    case TextEncoderKind::hybrid:
      return std::make_unique<LanguageTextEncoder>(
          model, options.language(), vocabulary,
          options.model == TextEncoderKind::hybrid ? PretrainingKind::hybrid : PretrainingKind::causal);
  }
  return nullptr;
}

}  // namespace attend
