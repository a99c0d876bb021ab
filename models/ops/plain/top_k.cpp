// The plain formulation of top_log_probs: topk on the device; the host orders ties by id.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/ops/paths.hpp"

namespace attend::ops::plain {
namespace {

using torch::Tensor;

// Candidates beyond the k best, to resolve ties at the k-th place.
constexpr std::int64_t kSpare = 8;

struct Scored {
  float value;
  std::int64_t id;
};

bool is_better(const Scored& a, const Scored& b) { return a.value > b.value || (a.value == b.value && a.id < b.id); }

}  // namespace

TopLogProbs top_log_probs(const Tensor& logits_RV, std::int64_t k) {
  const std::int64_t rows = logits_RV.size(0), vocabulary = logits_RV.size(1);
  const std::int64_t taken = std::min(k + kSpare, vocabulary);
  const Tensor log_probs_RV = at::log_softmax(logits_RV, -1);
  const auto [top, top_ids] = log_probs_RV.topk(taken);
  const Tensor values_RK = top.cpu(), ids_RK = top_ids.cpu();
  TopLogProbs best{.k = k, .values = {}, .ids = {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* values = values_RK.const_data_ptr<float>() + r * taken;
    const std::int64_t* ids = ids_RK.const_data_ptr<std::int64_t>() + r * taken;
    std::vector<Scored> scored;
    for (std::int64_t j = 0; j < taken; ++j) scored.push_back({values[j], ids[j]});
    if (!std::isfinite(values[0])) {  // NaN counts as the largest
      scored.assign(taken, {-std::numeric_limits<float>::infinity(), 0});
    } else if (taken < vocabulary && values[k - 1] == values[taken - 1] && std::isfinite(values[k - 1])) {
      // More candidates than those taken may be equal.
      const Tensor tied = log_probs_RV[r].ge(values[k - 1]).nonzero().flatten().cpu();
      const Tensor tied_values = log_probs_RV[r].cpu().index_select(0, tied);
      scored.clear();
      for (std::int64_t j = 0; j < tied.numel(); ++j) {
        scored.push_back({tied_values.const_data_ptr<float>()[j], tied.const_data_ptr<std::int64_t>()[j]});
      }
    }
    std::sort(scored.begin(), scored.end(), is_better);
    for (std::int64_t j = 0; j < k; ++j) {
      best.values.push_back(scored[j].value);
      best.ids.push_back(scored[j].id);
    }
  }
  return best;
}

}  // namespace attend::ops::plain
