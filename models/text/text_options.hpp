// Options of a text model: the encoder and its pooling.
#pragma once

#include <cstdint>
#include <optional>

#include "core/options.hpp"
#include "data/task/labelled_task.hpp"
#include "data/task/samples.hpp"
#include "models/bert/bert_config.hpp"
#include "models/language/language_options.hpp"
#include "models/text/pooling.hpp"

namespace attend {

enum class TextEncoderKind { bert, lstm, language };
template <>
inline constexpr auto kEnumNames<TextEncoderKind> = std::to_array<EnumName<TextEncoderKind>>(
    {{TextEncoderKind::bert, "bert"}, {TextEncoderKind::lstm, "lstm"}, {TextEncoderKind::language, "language"}});

struct TextModelOptions {
  TextEncoderKind model = TextEncoderKind::bert;
  std::optional<Pooling> pooling = {};
  std::optional<double> head_dropout = {};
  LanguageCell cell = LanguageCell::transformer;
  BertOptions encoder = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("model", self.model,
          {.help = "the encoder: BERT, a bidirectional LSTM, which uses only the width of a shape, or a language "
                   "model, which reads from left to right"});
    visit(
        "pooling", self.pooling,
        {.help = "vector from which labels are computed: the state of [CLS] (cls), the last states (last), their mean, "
                 "attention with a learnt query, or an alignment of two texts. auto: last for an LSTM and for a "
                 "language model; else alignment for two texts if the encoder was not imported; else cls, or mean if "
                 "[CLS] is untrained",
         .only = kOfSequences});
    visit("head-dropout", self.head_dropout,
          {.help = "dropout on the input of the label layer; auto: dropout", .min = 0, .max = 0.95});
    visit("cell", self.cell,
          {.help = "a Transformer, or recurrent layers with this cell", .only = {"model", {"language"}}});
    BertOptions::visit(self.encoder, visit);
  }

  // The pooling, with auto as in an imported run.
  Pooling pooling_of_run() const {
    return pooling.value_or(model == TextEncoderKind::bert ? Pooling::cls : Pooling::last);
  }

  LanguageOptions language() const { return {.cell = cell, .stack = encoder}; }

  // The maximum length of a text, in tokens: the encoder's positions, if it is not recurrent.
  std::int64_t longest() const {
    const bool recurs =
        model == TextEncoderKind::lstm || (model == TextEncoderKind::language && language().is_recurrent());
    return recurs ? kMostTokensOfSample : encoder.max_positions;
  }
};

}  // namespace attend
