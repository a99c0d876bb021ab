// A Transformer as a language model (GPT: Radford et al. 2018; GPT-2: 2019): the blocks of the house, in which a token
// sees itself and those before it, over token and position embeddings. The output table is that of the embeddings.
//
//   x_t = dropout(E[token_t] + P[t]),  h = blocks(x),  logits_t = h_t Eᵀ
//
// GPT-2 has a norm before each sub-layer and one after the last block (--norm pre), GPT one after each (post).
//
// Parameters have the names of models/transformer/block.hpp in `decoder`, and `embedding`, `position_embedding`.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "models/language/language_model.hpp"
#include "models/layers/layers.hpp"
#include "models/transformer/block.hpp"
#include "models/transformer/positions.hpp"

namespace attend {

struct CausalTransformerConfig {
  std::int64_t vocabulary = 0;
  std::int64_t max_length = 512;  // positions, where a table limits them
  std::int64_t layers = 4;
  bool share_layers = false;  // every layer is the same block
  bool sinusoids = false;     // initialisation of the table of learned positions
  BlockConfig block = {};
};

class CausalTransformerImpl final : public LanguageModelImpl {
 public:
  explicit CausalTransformerImpl(const CausalTransformerConfig& config);

  torch::Tensor forward(const Sequences& tokens, Pass& pass, Carried* carried = nullptr) const override;
  std::unique_ptr<DecoderState> start(std::int64_t rows) const override;
  torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const override;
  const ops::Weight& output_table() const override { return embedding_->weight; }
  std::optional<std::int64_t> longest() const override;

 private:
  // Tokens that stand at position `first` of their text and after it.
  torch::Tensor embed(const Sequences& tokens, std::int64_t first, Pass& pass) const;

  CausalTransformerConfig config_;
  Embedding embedding_;
  std::shared_ptr<const AddedPositions> positions_;
  Stack decoder_;
};
TORCH_MODULE(CausalTransformer);

}  // namespace attend
