// Encoders of texts below the head of a task: BERT, or an LSTM that reads both ways.
//
// Legend: M tokens (ragged), K wanted ones, H width.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "models/bert/bert.hpp"
#include "models/bert/text_options.hpp"
#include "models/layers/recurrent.hpp"

namespace attend {

// Its parameters are those of a child of the model, which is called as `name`.
class TextEncoder {
 public:
  explicit TextEncoder(std::string_view name) : name_(name) {}
  virtual ~TextEncoder() = default;

  // The hidden states of all tokens, [M, H], or of those that are wanted, [K, H].
  virtual Encoded forward(const SegmentedSequences& input, Pass& pass,
                          const std::optional<Selection>& wanted) const = 0;

  virtual std::int64_t width() const = 0;
  // The standard deviation that the weights of a head above it start with; 0: the head's own.
  virtual double deviation() const { return 0; }
  // The BERT that it is; nothing where it is none.
  virtual Bert bert() const { return nullptr; }

  // Whether a parameter of the model is its own, and of which layer: 0 the embeddings, 1 the lowest one. Nothing for
  // one above all layers.
  bool owns(std::string_view parameter) const;
  std::optional<std::int64_t> layer_of(std::string_view parameter) const;

 protected:
  virtual bool in_embeddings(std::string_view parameter) const = 0;
  // What the number of a layer follows in the names of its parameters.
  virtual std::string_view before_layer() const = 0;

 private:
  std::string_view name_;
};

class BertTextEncoder : public TextEncoder {
 public:
  BertTextEncoder(torch::nn::Module& model, const BertConfig& config);

  Encoded forward(const SegmentedSequences& input, Pass& pass, const std::optional<Selection>& wanted) const override;
  std::int64_t width() const override { return bert_->config().block.width; }
  double deviation() const override { return bert_->config().block.deviation; }
  Bert bert() const override { return bert_; }

 protected:
  bool in_embeddings(std::string_view parameter) const override;
  std::string_view before_layer() const override { return "encoder.layers."; }

 private:
  Bert bert_;
};

// Embeddings and LSTM layers, each reading both ways with half of the width.
struct LstmTextConfig {
  std::int64_t vocabulary = 0;
  std::int64_t width = 256;
  std::int64_t layers = 1;
  double dropout = 0.1;
};
class BidirectionalLstmImpl : public torch::nn::Module {
 public:
  explicit BidirectionalLstmImpl(const LstmTextConfig& config);
  Encoded forward(const SegmentedSequences& input, Pass& pass) const;
  std::int64_t width() const { return config_.width; }

 private:
  LstmTextConfig config_;
  Embedding embedding_;
  Recurrence layers_;
};
TORCH_MODULE(BidirectionalLstm);

class LstmTextEncoder : public TextEncoder {
 public:
  LstmTextEncoder(torch::nn::Module& model, const LstmTextConfig& config);

  Encoded forward(const SegmentedSequences& input, Pass& pass, const std::optional<Selection>& wanted) const override;
  std::int64_t width() const override { return lstm_->width(); }

 protected:
  bool in_embeddings(std::string_view parameter) const override;
  std::string_view before_layer() const override { return "_l"; }

 private:
  BidirectionalLstm lstm_;
};

// The encoder of the options, a child of `model`. UserError where they do not go together.
std::unique_ptr<TextEncoder> make_text_encoder(torch::nn::Module& model, const TextModelOptions& options,
                                               std::int64_t vocabulary);

}  // namespace attend
