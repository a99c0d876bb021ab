// The families of language models: the Transformer, and recurrent layers.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/language/language_model.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/recurrent.hpp"
#include "models/transformer/block.hpp"
#include "models/transformer/positions.hpp"

namespace attend {

// A Transformer as a language model (GPT: Radford et al. 2018; GPT-2: 2019): blocks (models/transformer/block.hpp) in
// which a token sees itself and those before it, over token and position embeddings. The output table is the embedding
// table.
//
//   x_t = dropout(E[token_t] + P[t]),  h = blocks(x),  logits_t = h_t Eᵀ
//
// With a memory of N positions (Transformer-XL, Dai et al. 2019, arXiv 1901.02860, section 3.2), a segment of a stream
// also attends to the N positions before it: to the input of each layer there, without a gradient. Positions are then
// encoded by distances, which do not depend on where a segment begins. A text that is read alone or generated is one
// segment of any length, so each token attends to all that precede it.
//
// GPT-2 has a norm before each sub-layer and after the last block (--norm pre), GPT one after each sub-layer (post).
//
// A hybrid (GPT-BERT, Charpentier and Samuel 2024, arXiv 2410.24159, section 2) also reads sequences in which all
// tokens see each other, with the same parameters: an encoder. What is missing at place i is predicted from h_{i-1}, as
// the next token is from left to right, so that one output serves both (masked next-token prediction):
//
//   causal       </s>   the    dog    barks      each state sees those before it and itself
//   predicted    the    dog    barks  loudly
//
//   both sides   [CLS]  the  [MASK]   barks  [SEP]      the state of "the" sees "barks" as well
//   predicted           dog
//
// Modules: `embedding`, `position_embedding` and the stack `decoder`.
//
// Legend: docs/architecture.md; N the memory.
class CausalTransformerImpl final : public LanguageModelImpl {
 public:
  // `options`: resolved, with embeddings as wide as the blocks. `memory`: N; 0: none.
  CausalTransformerImpl(const StackOptions& options, std::int64_t vocabulary, std::int64_t memory, bool hybrid);

  torch::Tensor forward(const Sequences& tokens, Pass& pass, Carried* carried = nullptr) const override;
  std::unique_ptr<DecoderState> start(std::int64_t rows) const override;
  torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const override;
  const ops::Weight& output_table() const override { return embedding_->weight; }
  std::optional<std::int64_t> longest() const override;
  bool is_hybrid() const override { return hybrid_; }
  torch::Tensor read_both_sides(const Sequences& tokens, Pass& pass,
                                const std::optional<Selection>& selected) const override;
  // With a memory: the input of each layer at the last positions, [rows, N, H], padded with zeros; then the number of
  // positions that are not padding, [rows], fp32, always on the CPU.
  std::vector<torch::Tensor> beginning(std::int64_t rows) const override;

 private:
  // Embeds tokens from position `first` of their texts.
  torch::Tensor embed(const Sequences& tokens, std::int64_t first, Pass& pass) const;
  EarlierTokens remembered(const std::vector<torch::Tensor>& parts) const;
  std::vector<torch::Tensor> parts_of(const EarlierTokens& read) const;

  StackOptions options_;
  std::int64_t memory_;
  bool hybrid_;
  Embedding embedding_;
  AddedPositions positions_;
  Stack decoder_;
};

// A recurrent language model (Mikolov et al. 2010; with an LSTM Zaremba et al. 2014, arXiv 1409.2329): embeddings, a
// stack of recurrent layers of the same width, and the embedding table as output table (Press and Wolf 2017,
// 1608.05859).
//
//   s_t = cells(√H E[token_t], s_{t-1}),  logits_t = dropout(h_t) Eᵀ
//
// The state at the end of a segment starts the next segment of the stream, without a gradient: truncated
// backpropagation through time. Dropout is applied to the embeddings, between layers and to the output, not to the
// recurrent connections (1409.2329).
//
// Legend: docs/architecture.md.

struct RecurrentLanguageConfig {
  std::int64_t vocabulary = 0;
  std::int64_t width = 256;
  std::int64_t layers = 1;
  CellKind cell = CellKind::lstm;
  double dropout = 0;
};

class RecurrentLanguageImpl final : public LanguageModelImpl {
 public:
  explicit RecurrentLanguageImpl(const RecurrentLanguageConfig& config);

  torch::Tensor forward(const Sequences& tokens, Pass& pass, Carried* carried = nullptr) const override;
  std::unique_ptr<DecoderState> start(std::int64_t rows) const override;
  torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const override;
  const ops::Weight& output_table() const override { return embedding_->weight; }
  // The parts of the state of each layer, from the bottom, [rows, H].
  std::vector<torch::Tensor> beginning(std::int64_t rows) const override;

 private:
  torch::Tensor embed(const Sequences& tokens, Pass& pass) const;
  std::vector<CellState> states_of(const std::vector<torch::Tensor>& parts) const;

  RecurrentLanguageConfig config_;
  Embedding embedding_;
  Recurrence layers_;
};

}  // namespace attend
