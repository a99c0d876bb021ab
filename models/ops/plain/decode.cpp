#include "models/ops/paths.hpp"

#include <ATen/ATen.h>

#include <cmath>

#include "models/ops/padded.hpp"

namespace attend::ops::plain {
namespace {

using torch::Tensor;

// Attends with one query per row to its own keys and values kv [R, S, 2H], of which the first lengths_R exist.
Tensor attend_rows(const Tensor& q_RH, const Tensor& kv_RSC, const Tensor& lengths_R, std::int64_t heads) {
  const std::int64_t rows = q_RH.size(0), longest = kv_RSC.size(1), size = q_RH.size(1) / heads;
  const auto split = [&](const Tensor& x) { return x.to(at::kFloat).reshape({rows, -1, heads, size}).transpose(1, 2); };
  const auto k_v = kv_RSC.chunk(2, 2);
  const Tensor scores_RN1S =
      at::matmul(split(q_RH), split(k_v[0]).transpose(-2, -1)) / std::sqrt(static_cast<double>(size));
  const Tensor weights = masked_softmax(scores_RN1S, missing(lengths_R, longest).view({rows, 1, 1, longest}));
  return at::matmul(weights, split(k_v[1])).transpose(1, 2).reshape({rows, -1}).to(q_RH.scalar_type());
}

}  // namespace

Tensor decode_self_attention(const Tensor& q_RH, std::span<const Tensor> kv, const Ancestry& ancestry,
                             std::int64_t heads) {
  std::vector<Tensor> own;
  for (std::size_t t = 0; t < kv.size(); ++t) own.push_back(kv[t].index_select(0, to_tensor(ancestry[t], kv[t])));
  const Tensor kv_RTC = at::stack(own, 1);
  return attend_rows(q_RH, kv_RTC, at::full({q_RH.size(0)}, kv_RTC.size(1), q_RH.options().dtype(at::kLong)), heads);
}

Tensor decode_cross_attention(const Tensor& q_RH, const Tensor& kv_MC, const Layout& memory,
                              std::span<const std::int64_t> sentences, std::int64_t heads) {
  const Tensor rows = to_tensor(sentences, kv_MC);
  return attend_rows(q_RH, plain::pad(kv_MC, memory).index_select(0, rows),
                     lengths(memory, kv_MC).index_select(0, rows), heads);
}

}  // namespace attend::ops::plain
