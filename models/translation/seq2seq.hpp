// The interface of translation models: an encoder that runs once, a decoder that runs step by step, and the same
// function over a whole batch for training.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/layers/pass.hpp"
#include "models/layers/step_model.hpp"
#include "models/ops/weight.hpp"

namespace attend {

// The encoder's output for a batch of sentences; each family has its own.
class Memory {
 public:
  virtual ~Memory() = default;
  Layout layout;  // of the source sentences
};

class Seq2SeqImpl : public torch::nn::Module {
 public:
  // Encodes the source sentences (with their eos).
  virtual std::shared_ptr<const Memory> encode(const Sequences& src, Pass& pass) const = 0;

  // The state before the first target token: row r attends to sentence sentences[r].
  virtual std::unique_ptr<DecoderState> start(const Memory& memory, std::span<const std::int64_t> sentences) const = 0;

  // Feeds one token to every row (bos first), advances `state`, and returns the logits of the next token, [R, V], fp32.
  virtual torch::Tensor step(const Memory& memory, DecoderState& state, const torch::Tensor& previous_R,
                             Pass& pass) const = 0;

  // Teacher forcing: the decoder's hidden states [M, H] at every target position of the batch; equal to repeated calls
  // of `step`. The pass's observer receives the attention of every layer.
  virtual torch::Tensor forward(const Batch& batch, Pass& pass) const = 0;

  // The embedding table of the source's pieces, [V, E]; the target's if they are tied.
  virtual const ops::Weight& source_table() const = 0;
  // The embedding table W [V, H] of the target's pieces and a bias b [V], undefined if there is none: the logits of
  // hidden states are hidden Wᵀ + b.
  virtual const ops::Weight& output_table() const = 0;
  virtual torch::Tensor output_bias() const { return {}; }

  // The longest source that the model reads, including the end-of-sentence token; nullopt: no limit.
  virtual std::optional<std::int64_t> longest_source() const { return {}; }

  // The option that makes `forward` run step by step although fused ops are available, such as "--attention hard";
  // empty if there is none.
  virtual std::string unfused_option() const { return {}; }

  torch::Device device() const { return parameters().front().device(); }
};

using Seq2Seq = std::shared_ptr<Seq2SeqImpl>;

// A translation model with encoded source sentences, for search.
class EncodedSource final : public StepModel {
 public:
  // `model` must outlive it.
  EncodedSource(const Seq2SeqImpl& model, const Sequences& src, Pass& pass)
      : model_(model), device_(src.ids_M.device()), memory_(model.encode(src, pass)) {}

  std::unique_ptr<DecoderState> start() const override {
    std::vector<std::int64_t> sentences(memory_->layout.size());
    std::iota(sentences.begin(), sentences.end(), 0);
    return model_.start(*memory_, sentences);
  }
  torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const override {
    return model_.step(*memory_, state, previous_R, pass);
  }
  torch::Device device() const override { return device_; }

 private:
  const Seq2SeqImpl& model_;
  torch::Device device_;
  std::shared_ptr<const Memory> memory_;
};

}  // namespace attend
