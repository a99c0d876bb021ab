// The fast path of top_log_probs: searches only those blocks of 64 logits whose maximum is among the k largest maxima.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "models/ops/kernels/rowwise.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops::fast {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// The k largest of n logits into values and ids. Only blocks whose maximum reaches the k-th largest can contain one.
// `found` is memory to reuse.
void select_best(const float* logits, std::int64_t n, std::span<const float> block_max, std::span<float> values,
                 std::span<std::int64_t> ids, std::vector<Candidate>& found) {
  const std::size_t k = values.size();
  float threshold = kNothing;
  if (block_max.size() > k) {
    std::vector<float> sorted(block_max.begin(), block_max.end());
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(k - 1), sorted.end(),
                     std::greater<>());
    threshold = sorted[k - 1];
  }
  const auto better = [](const Candidate& a, const Candidate& b) { return a.is_better_than(b); };
  const auto keep_best = [&] {
    std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(k - 1), found.end(), better);
    found.resize(k);
  };
  found.clear();
  for (std::size_t block = 0; block < block_max.size(); ++block) {
    if (block_max[block] < threshold) continue;
    const auto begin = static_cast<std::int64_t>(block) * kernels::kBlock;
    const std::int64_t end = std::min(begin + kernels::kBlock, n);
    for (std::int64_t i = begin; i < end; ++i) {
      if (logits[i] < threshold) continue;
      found.push_back({logits[i], i});
      if (found.size() < 2 * k + 8) continue;
      keep_best();
      threshold = std::nextafter(found.back().value, std::numeric_limits<float>::infinity());
    }
  }
  keep_best();
  std::ranges::sort(found, better);
  for (std::size_t i = 0; i < k; ++i) values[i] = found[i].value, ids[i] = found[i].id;
}

}  // namespace

TopLogProbs top_log_probs(const torch::Tensor& logits_RV, std::int64_t k) {
  const std::int64_t rows = logits_RV.size(0), vocabulary = logits_RV.size(1);
  const torch::Tensor logits = logits_RV.contiguous();
  const float* data = logits.const_data_ptr<float>();
  TopLogProbs best{.k = k, .values = std::vector<float>(rows * k), .ids = std::vector<std::int64_t>(rows * k)};
  at::parallel_for(0, rows, std::max<std::int64_t>(1, 32768 / vocabulary), [&](std::int64_t begin, std::int64_t end) {
    std::vector<Candidate> found;
    std::vector<float> block_max((vocabulary + kernels::kBlock - 1) / kernels::kBlock);
    for (std::int64_t r = begin; r < end; ++r) {
      const float* row = data + r * vocabulary;
      const std::span values(best.values.data() + r * k, k);
      const std::span ids(best.ids.data() + r * k, k);
      const float normaliser = kernels::log_sum_exp(row, vocabulary, block_max.data());
      if (!std::isfinite(normaliser)) {
        std::fill(values.begin(), values.end(), kNothing);
        std::fill(ids.begin(), ids.end(), 0);
        continue;
      }
      select_best(row, vocabulary, block_max, values, ids, found);
      for (float& value : values) value -= normaliser;
    }
  });
  return best;
}

}  // namespace attend::ops::fast
