// Text encoders below the head of a task: BERT, a bidirectional LSTM, or a language model.
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

#include "models/bert/bert.hpp"
#include "models/text/text_options.hpp"

namespace attend {

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
