#include "models/ops/decode.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/kernels/loss.hpp"
#include "models/ops/kernels/query.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/padded.hpp"

namespace attend::ops {

using torch::Tensor;

namespace {

// ---- The plain formulations.

// One query a row over its own keys and values [R, S, H], of which the first lengths_R exist. Weights [R, N, S], fp32.
struct Attended {
  Tensor context_RH;
  Tensor weights_RNS;
};
Attended attend_plain(const Tensor& q_RH, const Tensor& k_RSH, const Tensor& v_RSH, const Tensor& lengths_R,
                      std::int64_t heads) {
  const std::int64_t rows = q_RH.size(0);
  const std::int64_t size = q_RH.size(1) / heads;
  const auto split = [&](const Tensor& x) { return x.to(at::kFloat).reshape({rows, -1, heads, size}).transpose(1, 2); };
  const Tensor missing = ops::missing(lengths_R, k_RSH.size(1)).view({rows, 1, 1, k_RSH.size(1)});
  const Tensor scores = at::matmul(split(q_RH), split(k_RSH).transpose(-2, -1)) / std::sqrt(static_cast<double>(size));
  const Tensor weights = masked_softmax(scores, missing);
  const Tensor context = at::matmul(weights, split(v_RSH)).transpose(1, 2).reshape({rows, heads * size});
  return {.context_RH = context.to(q_RH.scalar_type()), .weights_RNS = weights.squeeze(2)};
}

Tensor self_plain(std::span<const Tensor> products, const Ancestry& ancestry, std::int64_t heads) {
  std::vector<Tensor> keys_values;
  for (std::size_t t = 0; t < products.size(); ++t) {
    keys_values.push_back(products[t].index_select(0, to_tensor(ancestry[t], products[t])));
  }
  const auto q_k_v = at::stack(keys_values, 1).chunk(3, 2);
  const Tensor lengths =
      at::full({q_k_v[0].size(0)}, static_cast<std::int64_t>(products.size()), q_k_v[0].options().dtype(at::kLong));
  return attend_plain(q_k_v[0].select(1, -1), q_k_v[1], q_k_v[2], lengths, heads).context_RH;
}

Attended cross_plain(const Tensor& q_RH, const Tensor& kv_MC, const Layout& memory,
                     std::span<const std::int64_t> sentences, std::int64_t heads) {
  const Tensor rows = to_tensor(sentences, kv_MC);
  const auto k_v = ops::pad(kv_MC, memory).index_select(0, rows).chunk(2, 2);
  return attend_plain(q_RH, k_v[0], k_v[1], lengths(memory, kv_MC).index_select(0, rows), heads);
}

// ---- The fast path: every row gathers pointers to its keys, and one loop goes over them where they lie.

// Calls attend_query for rows 0 … R - 1. gather(r, keys) writes the pointers of row r's keys and gives their number,
// at most `max_keys`; after(r, weights, num_keys) sees the weights [heads, num_keys].
template <class T, class Gather, class After>
Tensor attend_fast(const Tensor& q_RX, std::int64_t width, std::int64_t heads, std::int64_t value_offset,
                   std::int64_t max_keys, const Gather& gather, const After& after) {
  const std::int64_t rows = q_RX.size(0);
  const auto* queries = static_cast<const T*>(q_RX.const_data_ptr());
  const std::int64_t stride = q_RX.stride(0);
  Tensor out = at::empty({rows, width}, q_RX.options());
  auto* contexts = static_cast<T*>(out.mutable_data_ptr());
  const std::int64_t work = std::max<std::int64_t>(1, max_keys * width);
  at::parallel_for(0, rows, std::max<std::int64_t>(1, 65536 / work), [&](std::int64_t begin, std::int64_t end) {
    std::vector<const T*> keys(max_keys);
    std::vector<float> weights(heads * max_keys);
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t num_keys = gather(r, keys.data());
      kernels::attend_query({.query = queries + r * stride,
                             .keys = keys.data(),
                             .num_keys = num_keys,
                             .value_offset = value_offset,
                             .heads = heads,
                             .head_size = width / heads,
                             .weights = weights.data(),
                             .context = contexts + r * width});
      after(r, weights.data(), num_keys);
    }
  });
  return out;
}

template <class T>
Tensor self_fast(std::span<const Tensor> products, const Ancestry& ancestry, std::int64_t heads) {
  const auto steps = static_cast<std::int64_t>(products.size());
  const std::int64_t width = products.back().size(1) / 3;
  std::vector<const T*> bases;
  for (const Tensor& product : products) bases.push_back(static_cast<const T*>(product.const_data_ptr()) + width);
  const auto gather = [&](std::int64_t r, const T** keys) {
    for (std::int64_t t = 0; t < steps; ++t) keys[t] = bases[t] + ancestry[t][r] * 3 * width;
    return steps;
  };
  return attend_fast<T>(products.back(), width, heads, width, steps, gather, [](auto...) {});
}

template <class T>
Tensor cross_fast(const Tensor& q_RH, const Tensor& kv_MC, const Layout& memory,
                  std::span<const std::int64_t> sentences, std::int64_t heads, Tensor* weights_RS) {
  const std::int64_t width = q_RH.size(1);
  const auto* base = static_cast<const T*>(kv_MC.const_data_ptr());
  const auto gather = [&](std::int64_t r, const T** keys) {
    const std::int64_t sentence = sentences[r];
    const std::int64_t length = memory.length(sentence);
    for (std::int64_t j = 0; j < length; ++j) keys[j] = base + (memory.offsets[sentence] + j) * 2 * width;
    return length;
  };
  float* mean = weights_RS != nullptr ? weights_RS->data_ptr<float>() : nullptr;
  const auto after = [&](std::int64_t r, const float* weights, std::int64_t num_keys) {
    if (mean == nullptr) return;
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t j = 0; j < num_keys; ++j) {
        mean[r * memory.max_length + j] += weights[h * num_keys + j] / static_cast<float>(heads);
      }
    }
  };
  return attend_fast<T>(q_RH, width, heads, width, memory.max_length, gather, after);
}

}  // namespace

Tensor decode_self_attention(std::span<const Tensor> products, const Ancestry& ancestry, std::int64_t heads) {
  ensure(!products.empty() && products.size() == ancestry.size(), "an ancestry for every step");
  const Tensor& newest = products.back();
  if (!has_fast_path(newest)) return self_plain(products, ancestry, heads);
  return newest.scalar_type() == at::kFloat ? self_fast<float>(products, ancestry, heads)
                                            : self_fast<kernels::Bf16>(products, ancestry, heads);
}

Tensor decode_cross_attention(const Tensor& q_RH, const Tensor& kv_MC, const Layout& memory,
                              std::span<const std::int64_t> sentences, std::int64_t heads, Tensor* weights_RS) {
  ensure(q_RH.size(0) == static_cast<std::int64_t>(sentences.size()), "a sentence for every row");
  ensure(q_RH.scalar_type() == kv_MC.scalar_type(), "queries and keys of one type");
  if (!has_fast_path(q_RH)) {
    const Attended attended = cross_plain(q_RH, kv_MC, memory, sentences, heads);
    if (weights_RS != nullptr) *weights_RS = attended.weights_RNS.mean(1);
    return attended.context_RH;
  }
  if (weights_RS != nullptr) {
    *weights_RS = at::zeros({q_RH.size(0), memory.max_length}, q_RH.options().dtype(at::kFloat));
  }
  return q_RH.scalar_type() == at::kFloat
             ? cross_fast<float>(q_RH, kv_MC, memory, sentences, heads, weights_RS)
             : cross_fast<kernels::Bf16>(q_RH, kv_MC, memory, sentences, heads, weights_RS);
}

namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

TopLogProbs top_plain(const Tensor& logits_RV, std::int64_t k) {
  const Tensor log_probs = at::log_softmax(logits_RV, -1).cpu();
  const auto [values, ids] = at::sort(log_probs, /*stable=*/true, /*dim=*/-1, /*descending=*/true);
  const Tensor broken = log_probs.isfinite().any(-1, /*keepdim=*/true).logical_not();
  const Tensor best = values.narrow(1, 0, k).masked_fill(broken, kNothing).contiguous();
  const Tensor best_ids = ids.narrow(1, 0, k).contiguous();
  const auto* value = best.const_data_ptr<float>();
  const auto* id = best_ids.const_data_ptr<std::int64_t>();
  return {.k = k, .values = {value, value + best.numel()}, .ids = {id, id + best.numel()}};
}

// The k largest of n logits into values and ids. Only blocks that reach the k-th largest block maximum can hold one.
void select_best(const float* logits, std::int64_t n, std::span<const float> block_max, std::span<float> values,
                 std::span<std::int64_t> ids) {
  const std::size_t k = values.size();
  float threshold = kNothing;
  if (block_max.size() > k) {
    std::vector<float> sorted(block_max.begin(), block_max.end());
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(k - 1), sorted.end(),
                     std::greater<>());
    threshold = sorted[k - 1];
  }
  std::size_t found = 0;
  for (std::size_t block = 0; block < block_max.size(); ++block) {
    if (block_max[block] < threshold) continue;
    const auto begin = static_cast<std::int64_t>(block) * kernels::kBlock;
    const std::int64_t end = std::min(begin + kernels::kBlock, n);
    for (std::int64_t i = begin; i < end; ++i) {
      if (logits[i] < threshold || (found == k && logits[i] <= values[k - 1])) continue;
      std::size_t place = found < k ? found++ : k - 1;
      for (; place > 0 && logits[i] > values[place - 1]; --place) {
        values[place] = values[place - 1];
        ids[place] = ids[place - 1];
      }
      values[place] = logits[i];
      ids[place] = i;
    }
  }
}

}  // namespace

TopLogProbs top_log_probs(const Tensor& logits_RV, std::int64_t k) {
  const std::int64_t rows = logits_RV.size(0);
  const std::int64_t vocabulary = logits_RV.size(1);
  k = std::min(k, vocabulary);
  ensure(logits_RV.scalar_type() == at::kFloat && k > 0, "fp32 logits, at least one candidate");
  if (!has_fast_path(logits_RV)) return top_plain(logits_RV, k);
  const Tensor logits = logits_RV.contiguous();
  const float* data = logits.const_data_ptr<float>();
  TopLogProbs best{.k = k, .values = std::vector<float>(rows * k), .ids = std::vector<std::int64_t>(rows * k)};
  at::parallel_for(0, rows, std::max<std::int64_t>(1, 32768 / vocabulary), [&](std::int64_t begin, std::int64_t end) {
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
      select_best(row, vocabulary, block_max, values, ids);
      for (float& value : values) value -= normaliser;
    }
  });
  return best;
}

}  // namespace attend::ops
