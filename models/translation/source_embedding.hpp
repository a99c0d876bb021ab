// The embedding of source pieces and their labels (source factors): concatenated (Sennrich and Haddow 2016, W16-2209,
// section 2.1) or added, as Sockeye also offers. For a piece w with the labels f_1 … f_J and tables W and F_j:
//
//   concat   x = [W_w; F_1,f_1; …; F_J,f_J]     F_j has `width` columns, W the others
//   sum      x = W_w + F_1,f_1 + … + F_J,f_J    all tables have the width of x
//
// Each row is scaled by the square root of its width, so that its components initially have variance 1. Without
// factors, x = W_w. Positions and dropout follow, as for other embeddings.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/layers/layers.hpp"
#include "models/translation/kinds.hpp"

namespace attend {

struct FactorTables {
  std::vector<std::int64_t> sizes = {};  // the number of ids of each factor
  FactorCombination combination = FactorCombination::sum;
  std::int64_t width = 0;  // columns of each factor, if they are concatenated

  // The columns of the pieces' table in an embedding of width E.
  std::int64_t piece_width(std::int64_t width_E) const {
    const std::int64_t others = combination == FactorCombination::concat ? std::ssize(sizes) * width : 0;
    return width_E - others;
  }
};

class SourceEmbedding {
 public:
  SourceEmbedding() = default;
  // `pieces` is a module of the model, of piece_width columns. The table of factor j, with the given standard deviation
  // (EmbeddingConfig), becomes the module src_factor_embedding_j.
  SourceEmbedding(torch::nn::Module& model, Embedding pieces, const FactorTables& factors, double deviation = 0);

  // Returns [M, E]; `positions_TH` may be undefined. `src` has a label for each factor. Word dropout, as in
  // EmbeddingImpl::forward, drops a piece with its labels.
  torch::Tensor forward(const Sequences& src, const torch::Tensor& positions_TH, ops::Dropout dropout,
                        ops::Dropout words = {}) const;

  // The table W.
  const ops::Weight& pieces() const { return tables_[0]->weight; }

 private:
  std::vector<Embedding> tables_;  // the first is that of the pieces
  FactorCombination combination_ = FactorCombination::sum;
};

}  // namespace attend
