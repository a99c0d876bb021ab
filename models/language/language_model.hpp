// Language models: what all have in common, and the options of which one is made.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "data/corpus/masking.hpp"
#include "models/layers/pass.hpp"
#include "models/layers/step_model.hpp"
#include "models/ops/recurrent.hpp"
#include "models/ops/weight.hpp"
#include "models/transformer/stack_options.hpp"

namespace attend {

// A language model: the probability of each token of a text, given the tokens before it. A text begins with the end
// token of the one before it, which every model reads first.
//
//   p(x_1 … x_n) = Π p(x_t | </s> x_1 … x_{t-1})
//
// Implemented by Transformers and recurrent models: training reads whole segments of a stream (`forward`), generation
// one token at a time (`start`, `step`); both agree.
//
// Legend: docs/architecture.md.

// The state of a model between the segments of a stream: tensors with a row for each segment, in the model's own order,
// of its own types or fp32; those with one axis are on the CPU. Empty before the first segment.
struct Carried {
  std::vector<torch::Tensor> parts;
};

class LanguageModelImpl : public torch::nn::Module {
 public:
  // The hidden state of every token, [M, H], from which the next one is predicted. With `carried`, segment b continues
  // from row b, which then receives the state at the end of this segment, without a gradient.
  virtual torch::Tensor forward(const Sequences& tokens, Pass& pass, Carried* carried = nullptr) const = 0;

  // The state of R rows before the first token.
  virtual std::unique_ptr<DecoderState> start(std::int64_t rows) const = 0;
  // Feeds one token to every row, advances `state`, and returns the logits of the next token, [R, V], fp32.
  virtual torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const = 0;

  // The embedding table W [V, H]: the logits of hidden states are hidden Wᵀ.
  virtual const ops::Weight& output_table() const = 0;

  // The longest text that the model reads, including the first end token; nullopt: no limit.
  virtual std::optional<std::int64_t> longest() const { return std::nullopt; }

  // True if it was made for the objective hybrid (families.cpp), which only a Transformer is.
  virtual bool is_hybrid() const { return false; }
  // Of a hybrid: the hidden states of all tokens, [M, H], or of the selected ones, [K, H], each from its whole text.
  virtual torch::Tensor read_both_sides(const Sequences& tokens, Pass& pass,
                                        const std::optional<Selection>& selected) const;
  // The states of [CLS] text [SEP] from which these rows, ascending, are predicted: those before them, [K, H].
  torch::Tensor states_of_masked(const Sequences& tokens, std::vector<std::int64_t> masked, Pass& pass) const;

  // The parts of `Carried` for `rows` segments at the beginning of a stream; none if the model has no such state.
  virtual std::vector<torch::Tensor> beginning(std::int64_t /*rows*/) const { return {}; }

  torch::Device device() const { return parameters().front().device(); }
};
using LanguageModel = std::shared_ptr<LanguageModelImpl>;

// `rows` new texts, for search. `model` must outlive it.
class TextsToContinue final : public StepModel {
 public:
  TextsToContinue(const LanguageModelImpl& model, std::int64_t rows) : model_(model), rows_(rows) {}

  std::unique_ptr<DecoderState> start() const override { return model_.start(rows_); }
  torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const override {
    return model_.step(state, previous_R, pass);
  }
  torch::Device device() const override { return model_.device(); }

 private:
  const LanguageModelImpl& model_;
  std::int64_t rows_;
};

enum class LanguageCell { transformer, lstm, gru, tanh };
template <>
inline constexpr auto kEnumNames<LanguageCell> = std::to_array<EnumName<LanguageCell>>({
    {LanguageCell::transformer, "transformer"},
    {LanguageCell::lstm, "lstm"},
    {LanguageCell::gru, "gru"},
    {LanguageCell::tanh, "tanh"},
});

// Options of a language model: a Transformer, or recurrent layers.
struct LanguageOptions {
  LanguageCell cell = LanguageCell::transformer;
  std::int64_t memory = 0;  // of a Transformer
  StackOptions stack = {};  // sizes and blocks; a recurrent model uses only layers, width and dropout

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("cell", self.cell,
          {.help = "a Transformer, or a recurrent model with this cell, which remembers the text before each segment",
           .common = true,
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
// Checks the options first. `objective`: causal or hybrid.
LanguageModel make_language_model(const LanguageOptions& options, std::int64_t vocabulary,
                                  PretrainingKind objective = PretrainingKind::causal);

}  // namespace attend
