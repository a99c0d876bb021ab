// The plain formulations of decode.hpp and top_k.hpp: ATen on any device.
#pragma once

#include "models/ops/decode.hpp"
#include "models/ops/top_k.hpp"

namespace attend::ops::plain {

torch::Tensor decode_self_attention(const torch::Tensor& q_RH, std::span<const torch::Tensor> kv,
                                    const Ancestry& ancestry, std::int64_t heads);
torch::Tensor decode_cross_attention(const torch::Tensor& q_RH, const torch::Tensor& kv_MC, const Layout& memory,
                                     std::span<const std::int64_t> sentences, std::int64_t heads);
TopLogProbs top_log_probs(const torch::Tensor& logits_RV, std::int64_t k);

}  // namespace attend::ops::plain
