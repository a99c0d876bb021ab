#include "models/ops/top_k.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops {

TopLogProbs top_log_probs(const torch::Tensor& logits_RV, std::int64_t k) {
  k = std::min(k, logits_RV.size(1));
  ensure(logits_RV.scalar_type() == at::kFloat && k > 0, "logits are fp32 and k is positive");
  return has_fast_path(logits_RV) ? fast::top_log_probs(logits_RV, k) : plain::top_log_probs(logits_RV, k);
}

}  // namespace attend::ops
