// Options of a language model: a Transformer, or recurrent layers.
#pragma once

#include <cstdint>
#include <optional>

#include "core/options.hpp"
#include "models/language/language_model.hpp"
#include "models/ops/recurrent.hpp"
#include "models/transformer/stack_options.hpp"

namespace attend {

enum class LanguageCell { transformer, lstm, gru, tanh };
template <>
inline constexpr auto kEnumNames<LanguageCell> = std::to_array<EnumName<LanguageCell>>({
    {LanguageCell::transformer, "transformer"},
    {LanguageCell::lstm, "lstm"},
    {LanguageCell::gru, "gru"},
    {LanguageCell::tanh, "tanh"},
});

struct LanguageOptions {
  LanguageCell cell = LanguageCell::transformer;
  std::int64_t memory = 0;  // of a Transformer
  StackOptions stack = {};  // sizes and blocks; a recurrent model uses only layers, width and dropout

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("cell", self.cell,
          {.help = "a Transformer, or a recurrent model with this cell, which remembers the text before each segment",
           .only = {"objective", {"causal"}}});
    visit("memory", self.memory,
          {.help = "number of positions before each segment that are attended to as well, without a gradient "
                   "(Transformer-XL); needs --positions of distances, or none; 0: no memory",
           .min = 0,
           .max = 65535,
           .only = {"cell", {"transformer"}}});
    StackOptions::visit(self.stack, visit);
  }

  bool is_recurrent() const { return cell != LanguageCell::transformer; }
  // True if the model has state between segments (Carried).
  bool carries() const { return is_recurrent() || memory > 0; }
  Facts facts() const {
    if (!is_recurrent()) return {{kModelsWith, {std::string(kTransformerLayers)}}};
    return {{kModelsWith, {std::string(kRecurrentLayers), "--cell " + std::string(name_of(cell))}}};
  }
};

// Throws UserError if the options contradict each other.
void check_language_options(const LanguageOptions& options);
// Checks the options first.
LanguageModel make_language_model(const LanguageOptions& options, std::int64_t vocabulary);

}  // namespace attend
