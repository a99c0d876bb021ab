#include "eval/forced_piece.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "models/ops/ops.hpp"

namespace attend {

using torch::Tensor;

namespace {

// Calls see(first row, logits [K, V]) for blocks of rows.
template <class See>
void for_each_block_of_logits(const Tensor& hidden_MH, const ops::Weight& table_VH, const Tensor& bias_V, See see) {
  constexpr std::int64_t kLogitsBytes = std::int64_t{32} << 20;  // limit of a block
  const std::int64_t rows = hidden_MH.size(0), row_bytes = table_VH.master().size(0) * std::int64_t{sizeof(float)};
  const std::int64_t block = std::max<std::int64_t>(1, kLogitsBytes / row_bytes);
  for (std::int64_t first = 0; first < rows; first += block) {
    const std::int64_t count = std::min(block, rows - first);
    see(first, ops::logits(hidden_MH.narrow(0, first, count), table_VH, bias_V));
  }
}

Tensor given_logits(const Tensor& logits_KV, const Tensor& labels_M, std::int64_t first) {
  return logits_KV.gather(1, labels_M.narrow(0, first, logits_KV.size(0)).unsqueeze(1));
}

}  // namespace

std::vector<ForcedPiece> forced_pieces(const Tensor& hidden_MH, const ops::Weight& table_VH, const Tensor& bias_V,
                                       const Tensor& labels_M) {
  const Tensor ids_M = labels_M.cpu();
  std::vector<ForcedPiece> forced(static_cast<std::size_t>(hidden_MH.size(0)));
  for_each_block_of_logits(hidden_MH, table_VH, bias_V, [&](std::int64_t first, const Tensor& logits_KV) {
    const Tensor given_K1 = given_logits(logits_KV, labels_M, first), best_K1 = logits_KV.amax(1, true);
    const Tensor scores_K3 = at::cat({given_K1, best_K1, logits_KV.logsumexp(1, true)}, 1).cpu();
    const auto scores = scores_K3.accessor<float, 2>();
    for (std::int64_t k = 0; k < scores.size(0); ++k) {
      const double given = scores[k][0], best = scores[k][1], normaliser = scores[k][2];
      forced[static_cast<std::size_t>(first + k)] = {
          .id = static_cast<std::int32_t>(ids_M.const_data_ptr<std::int64_t>()[first + k]),
          .log_prob = given - normaliser,
          .best_log_prob = best - normaliser,
          .is_best = given >= best};
    }
  });
  return forced;
}

Tensor log_probs_of_labels(const Tensor& hidden_MH, const ops::Weight& table_VH, const Tensor& bias_V,
                           const Tensor& labels_M) {
  std::vector<Tensor> blocks;
  for_each_block_of_logits(hidden_MH, table_VH, bias_V, [&](std::int64_t first, const Tensor& logits_KV) {
    blocks.push_back((given_logits(logits_KV, labels_M, first).squeeze(1) - logits_KV.logsumexp(1)).cpu());
  });
  return blocks.empty() ? at::empty({0}) : at::cat(blocks);
}

Tensor loss_of_labels(const Tensor& hidden_MH, const ops::Weight& table_VH, const Tensor& bias_V,
                      const Tensor& labels_M) {
  return ops::cross_entropy(hidden_MH, table_VH, bias_V, labels_M, /*label_smoothing=*/0).loss;
}

double log_prob_of(std::span<const ForcedPiece> pieces) {
  double sum = 0;
  for (const ForcedPiece& piece : pieces) sum += piece.log_prob;
  return sum;
}

}  // namespace attend
