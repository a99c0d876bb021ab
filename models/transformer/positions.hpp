// Positions of tokens as vectors that are added to the embeddings: sinusoids (Vaswani et al. 2017, arXiv 1706.03762,
// section 3.5), or the learnt rows of a table (the same, table 3, row E; Gehring et al. 2017, 1705.03122, section 3.1).
// Encodings within self-attention are parts of attention (models/attention/parts.hpp).
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "models/attention/parts.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/sinusoid_table.hpp"

namespace attend {

class AddedPositions {
 public:
  virtual ~AddedPositions() = default;
  // The vectors of `length` positions from `first`, [length, H], fp32.
  virtual torch::Tensor rows(std::int64_t first, std::int64_t length) const = 0;
};

class SinusoidPositions final : public AddedPositions {
 public:
  SinusoidPositions(torch::nn::Module& model, std::int64_t width, double scale)
      : table_(model, "positions", width, scale) {}
  torch::Tensor rows(std::int64_t first, std::int64_t length) const override { return table_.rows(first, length); }

 private:
  SinusoidTable table_;
};

// Positions after the last row of the table have the last row.
class LearnedPositions final : public AddedPositions {
 public:
  LearnedPositions(torch::nn::Module& model, const std::string& name, const EmbeddingConfig& config)
      : table_(model.register_module(name, Embedding(config))) {}
  torch::Tensor rows(std::int64_t first, std::int64_t length) const override {
    const torch::Tensor& table_TH = table_->weight.master();
    const std::int64_t last = table_TH.size(0) - 1;
    if (first + length <= last + 1) return table_TH.narrow(0, first, length);
    const auto positions = table_TH.options().dtype(torch::kLong);
    return table_TH.index_select(0, torch::arange(first, first + length, positions).clamp_max(last));
  }

 private:
  Embedding table_;
};

// The positions that a model adds to its embeddings, whose width is that of `table`; null if it adds none. A learnt
// table is the module `name` of the model, sinusoids are its buffer "positions", multiplied by `scale`.
inline std::shared_ptr<const AddedPositions> make_positions(torch::nn::Module& model, PositionKind kind,
                                                            const std::string& name, const EmbeddingConfig& table,
                                                            double scale = 1) {
  const PositionRecipe recipe = recipe_of(kind);
  if (recipe.adds_sinusoids) return std::make_shared<SinusoidPositions>(model, table.width, scale);
  if (recipe.adds_table) return std::make_shared<LearnedPositions>(model, name, table);
  return nullptr;
}

}  // namespace attend
