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
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "models/language/language_model.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/recurrent.hpp"

namespace attend {

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
