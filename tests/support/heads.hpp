// Multi-head attention with scaled dot products, as models compute it: by the fused op if there is one, else by the
// plain formulation.
#pragma once

#include <torch/types.h>

#include "models/attention/heads.hpp"

namespace attend {

inline Heads heads_of(std::int64_t width, const ops::HeadsForm& form) {
  return Heads(
      {.attention_dropout = form.dropout.rate},
      {.place = form.causal ? AttentionPlace::decoder : AttentionPlace::encoder, .width = width, .heads = form.heads});
}

// Within each sentence: [M, H].
inline torch::Tensor attend_heads(const ops::QueriesKeysValues& rows, const Layout& queries, const Layout& keys,
                                  const ops::HeadsForm& form) {
  Pass pass = form.dropout.rate > 0 ? Pass::train(form.dropout.key) : Pass::inference();
  return heads_of(rows.width(), form).within(rows, queries, {}, keys, 0, pass);
}

// The weights, [B, N, T, S], padded with zeros.
inline torch::Tensor weights_of_heads(const torch::Tensor& q_MH, const torch::Tensor& k_MH, const Layout& queries,
                                      const Layout& keys, const ops::HeadsForm& form) {
  class Seen final : public Observer {
   public:
    void on_attention(AttentionPlace /*place*/, std::int64_t /*layer*/, const torch::Tensor& weights_BNTS) override {
      weights = weights_BNTS;
    }
    torch::Tensor weights;
  } seen;
  Pass pass = Pass::inference(&seen);
  heads_of(q_MH.size(1), form).within({q_MH, k_MH, k_MH}, queries, {}, keys, 0, pass);
  return seen.weights;
}

}  // namespace attend
