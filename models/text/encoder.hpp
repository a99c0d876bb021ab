// The options of a text model, and its encoder, below the head of a task: BERT, a bidirectional LSTM, or a language
// model.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/task/labelled_task.hpp"
#include "data/task/samples.hpp"
#include "models/bert/bert.hpp"
#include "models/language/language_model.hpp"
#include "models/text/pooling.hpp"

namespace attend {

enum class TextEncoderKind { bert, lstm, language, hybrid };
template <>
inline constexpr auto kEnumNames<TextEncoderKind> =
    std::to_array<EnumName<TextEncoderKind>>({{TextEncoderKind::bert, "bert"},
                                              {TextEncoderKind::lstm, "lstm"},
                                              {TextEncoderKind::language, "language"},
                                              {TextEncoderKind::hybrid, "hybrid"}});

struct TextModelOptions {
  TextEncoderKind model = TextEncoderKind::bert;
  std::optional<Pooling> pooling = {};
  std::optional<double> head_dropout = {};
  LanguageCell cell = LanguageCell::transformer;
  StackOptions encoder = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("model", self.model,
          {.help = "the encoder: BERT, a bidirectional LSTM, which uses only the width of a shape, or a language "
                   "model, which reads from left to right (language) or both sides (hybrid)",
           .common = true});
    visit(
        "pooling", self.pooling,
        {.help = "vector from which labels are computed: the state of [CLS] (cls), the last states (last), their mean, "
                 "attention with a learnt query, or an alignment of two texts. auto: last for an LSTM and for a "
                 "language model; else alignment for two texts if the encoder was not imported; else cls, or mean if "
                 "[CLS] is untrained",
         .only = kOfSequences});
    visit(
        "head-dropout", self.head_dropout,
        {.help = "dropout on the input of the label layer; auto: dropout", .min = 0, .max = 0.95, .is_adopted = false});
    visit("cell", self.cell,
          {.help = "a Transformer, or recurrent layers with this cell", .only = {"model", {"language"}}});
    StackOptions::visit(self.encoder, visit);
  }

  // True if every state has read the whole text, so that no token is the last.
  bool attends_to_both_sides() const { return model == TextEncoderKind::bert || model == TextEncoderKind::hybrid; }

  // The pooling, with auto as in an imported run.
  Pooling pooling_of_run() const { return pooling.value_or(attends_to_both_sides() ? Pooling::cls : Pooling::last); }

  Facts facts() const {
    if (model == TextEncoderKind::language) return language().facts();
    if (attends_to_both_sides()) return {{kModelsWith, {std::string(kTransformerLayers)}}};
    return {{kModelsWith, {std::string(kRecurrentLayers), "--model lstm"}}};
  }

  LanguageOptions language() const { return {.cell = cell, .stack = encoder}; }

  // The maximum length of a text, in tokens: the encoder's positions, if it is not recurrent.
  std::int64_t longest() const {
    const bool recurs =
        model == TextEncoderKind::lstm || (model == TextEncoderKind::language && language().is_recurrent());
    return recurs ? kMostTokensOfSample : encoder.max_positions;
  }
};

// An encoder whose parameters are registered under the child `name` of the model.
class TextEncoder {
 public:
  // `embeddings`: prefixes of the names of the embeddings' parameters; `before_layer`: the text before the layer's
  // number.
  TextEncoder(std::string_view name, std::vector<std::string_view> embeddings, std::string_view before_layer)
      : name_(name), embeddings_(std::move(embeddings)), before_layer_(before_layer) {}
  virtual ~TextEncoder() = default;

  // The hidden states of all tokens, [M, H], or of the selected ones, [K, H].
  virtual Encoded forward(const SegmentedSequences& input, Pass& pass,
                          const std::optional<Selection>& selected) const = 0;

  virtual std::int64_t width() const = 0;
  // The standard deviation of the initial weights of a head above this encoder; 0: the head's own default.
  virtual double deviation() const { return 0; }
  // The table of the pieces, [V, E].
  virtual const ops::Weight& table() const = 0;
  // The BERT, or null.
  virtual Bert bert() const { return nullptr; }

  std::string_view name() const { return name_; }

  // True if a parameter of the model belongs to the encoder; and its layer: 0 for the embeddings, 1 for the lowest
  // layer, nullopt above the layers.
  bool owns(std::string_view parameter) const;
  std::optional<std::int64_t> layer_of(std::string_view parameter) const;

 private:
  std::string_view name_;
  std::vector<std::string_view> embeddings_;
  std::string_view before_layer_;
};

// Registers the encoder in `model`. Throws UserError if the options contradict each other.
std::unique_ptr<TextEncoder> make_text_encoder(torch::nn::Module& model, const TextModelOptions& options,
                                               std::int64_t vocabulary);

}  // namespace attend
