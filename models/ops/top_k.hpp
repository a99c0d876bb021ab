// The best next tokens of a row of logits.
//
// Legend: R rows, V vocabulary, K best.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace attend::ops {

// The K largest of log_softmax(logits) for each row, best first, ties by the smaller id; K = min(k, V). If a row's
// normaliser is not finite, all its values are -infinity.
struct TopLogProbs {
  std::int64_t k = 0;
  std::vector<float> values;      // R * K
  std::vector<std::int64_t> ids;  // R * K
};
TopLogProbs top_log_probs(const torch::Tensor& logits_RV, std::int64_t k);

}  // namespace attend::ops
