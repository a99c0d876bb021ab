#include "eval/forced_piece.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "models/ops/ops.hpp"

namespace attend {

using torch::Tensor;

std::vector<ForcedPiece> forced_pieces(const Tensor& hidden_MH, const ops::Weight& table_VH, const Tensor& bias_V,
                                       const Tensor& labels_M) {
  constexpr std::int64_t kLogitsBytes = std::int64_t{32} << 20;  // limit of the logits of a block
  const std::int64_t rows = hidden_MH.size(0), row_bytes = table_VH.master().size(0) * std::int64_t{sizeof(float)};
  const std::int64_t block = std::max<std::int64_t>(1, kLogitsBytes / row_bytes);
  const Tensor ids_M = labels_M.cpu();
  std::vector<ForcedPiece> forced(static_cast<std::size_t>(rows));
  for (std::int64_t first = 0; first < rows; first += block) {
    const std::int64_t count = std::min(block, rows - first);
    const Tensor logits_KV = ops::logits(hidden_MH.narrow(0, first, count), table_VH, bias_V);
    const Tensor given_K1 = logits_KV.gather(1, labels_M.narrow(0, first, count).unsqueeze(1));
    const Tensor best_K1 = logits_KV.amax(1, true);
    const Tensor scores_K3 = at::cat({given_K1, best_K1, logits_KV.logsumexp(1, true)}, 1).cpu();
    const auto scores = scores_K3.accessor<float, 2>();
    for (std::int64_t k = 0; k < count; ++k) {
      const double given = scores[k][0], best = scores[k][1], normaliser = scores[k][2];
      forced[static_cast<std::size_t>(first + k)] = {
          .id = static_cast<std::int32_t>(ids_M.const_data_ptr<std::int64_t>()[first + k]),
          .log_prob = given - normaliser,
          .best_log_prob = best - normaliser,
          .is_best = given >= best};
    }
  }
  return forced;
}

double log_prob_of(std::span<const ForcedPiece> pieces) {
  double sum = 0;
  for (const ForcedPiece& piece : pieces) sum += piece.log_prob;
  return sum;
}

}  // namespace attend
