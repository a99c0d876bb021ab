#include "models/translation/seq2seq.hpp"

#include <ATen/ATen.h>

#include <string>
#include <utility>

#include "core/error.hpp"

namespace attend {

using torch::Tensor;

SourceEmbedding::SourceEmbedding(torch::nn::Module& model, Embedding pieces, const FactorTables& factors,
                                 double deviation)
    : combination_(factors.combination) {
  const bool is_sum = combination_ == FactorCombination::sum;
  const std::int64_t width = is_sum ? pieces->weight.master().size(1) : factors.width;
  tables_.push_back(std::move(pieces));
  for (std::size_t j = 0; j < factors.sizes.size(); ++j) {
    tables_.push_back(model.register_module(
        "src_factor_embedding_" + std::to_string(j),
        Embedding(EmbeddingConfig{.vocabulary = factors.sizes[j], .width = width, .deviation = deviation})));
  }
}

Tensor SourceEmbedding::forward(const Sequences& src, const Tensor& positions_TH, ops::Dropout dropout,
                                ops::Dropout words) const {
  const std::int64_t num_factors = src.factors_MJ.defined() ? src.factors_MJ.size(1) : 0;
  ensure(num_factors + 1 == std::ssize(tables_), "the source has the labels of the model's factors");
  if (num_factors == 0) return tables_[0]->forward(src, tables_[0]->unit_scale(), positions_TH, dropout, words);
  std::vector<Tensor> parts = {tables_[0]->forward(src, tables_[0]->unit_scale(), {}, {})};
  for (std::int64_t j = 0; j < num_factors; ++j) {
    const Embedding& table = tables_[j + 1];
    parts.push_back(table->forward({src.factors_MJ.select(1, j), {}}, table->unit_scale(), {}, {}));
  }
  const Tensor rows_ME = combination_ == FactorCombination::concat ? at::cat(parts, 1) : at::stack(parts).sum(0);
  return finish_embedding(rows_ME, src.layout, positions_TH, dropout, words);
}

}  // namespace attend
