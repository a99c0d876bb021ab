// Positions of tokens as vectors that are added to the embeddings: sinusoids (Vaswani et al. 2017, arXiv 1706.03762,
// section 3.5), or the learnt rows of a table (the same, table 3, row E; Gehring et al. 2017, 1705.03122, section 3.1).
// Encodings within self-attention are in models/attention/parts.hpp.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <numbers>
#include <string>

#include "models/attention/parts.hpp"
#include "models/layers/layers.hpp"
#include "models/transformer/stack_options.hpp"

namespace attend {

class AddedPositions {
 public:
  // None if vectors of `kind` are not added. A learnt `table` is the module `name` of the model; sinusoids, of the same
  // width, are its module "positions", multiplied by `scale`.
  AddedPositions(torch::nn::Module& model, PositionKind kind, const std::string& name, const EmbeddingConfig& table,
                 double scale = 1) {
    const PositionRecipe recipe = recipe_of(kind);
    if (recipe.adds_sinusoids) {
      sinusoids_ = model.register_module(
          "positions", RowTable([width = table.width, scale](std::int64_t first, std::int64_t length) {
            return sinusoids(first, length, width) * scale;
          }));
    }
    if (recipe.adds_table) table_ = model.register_module(name, Embedding(table));
  }

  // The vectors of `length` positions from `first`, [length, H], fp32; undefined if none are added. Positions beyond a
  // table have its last row.
  torch::Tensor rows(std::int64_t first, std::int64_t length) const {
    if (sinusoids_) return sinusoids_->rows(first, length);
    if (!table_) return {};
    const torch::Tensor& table_TH = table_->weight.master();
    const std::int64_t last = table_TH.size(0) - 1;
    if (first + length <= last + 1) return table_TH.narrow(0, first, length);
    const auto positions = table_TH.options().dtype(torch::kLong);
    return table_TH.index_select(0, torch::arange(first, first + length, positions).clamp_max(last));
  }

 private:
  RowTable sinusoids_ = nullptr;
  Embedding table_ = nullptr;
};

// A table with one row for each of `rows` pieces or positions, and the positions, of a stack whose embeddings are not
// scaled, as in BERT and language models. Sinusoids have the standard deviation of its tables.
inline EmbeddingConfig unscaled_table(const StackOptions& stack, std::int64_t rows, bool sinusoids = false) {
  return {.vocabulary = rows, .width = *stack.embedding_width, .deviation = stack.deviation(), .sinusoids = sinusoids};
}
inline AddedPositions unscaled_positions(torch::nn::Module& model, const char* name, const StackOptions& stack) {
  return {model, stack.block.positions, name,
          unscaled_table(stack, stack.max_positions, stack.initial_positions == InitialPositions::sinusoids),
          stack.deviation() * std::numbers::sqrt2};
}

}  // namespace attend
