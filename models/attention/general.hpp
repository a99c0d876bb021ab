// Luong's general score (arXiv 1508.04025, eq. 8): score(h_t, h_s) = h_tᵀ W_a h_s. The keys are W_a h_s, made once a
// sentence, so that a step is a dot product. With W_a the identity it is the dot score.
//
//   h_t = (1 2), h_s = (1 0), (0 1), W_a = (0 1; 1 0):  keys (0 1), (1 0), scores 2, 1, weights 0.73, 0.27
#pragma once

#include "models/attention/attention.hpp"
#include "models/layers/layers.hpp"

namespace attend {

struct GeneralAttentionConfig {
  std::int64_t query = 0;   // width of the decoder's hidden state
  std::int64_t memory = 0;  // width of the encoder's
};

class GeneralAttention : public AttentionImpl {
 public:
  explicit GeneralAttention(const GeneralAttentionConfig& config);
  Keys prepare(const torch::Tensor& memory_SV, const Layout& layout) const override;
  Attended attend(const torch::Tensor& query_RH, const Keys& keys, const StepContext& step) const override;

 private:
  Linear weight_;  // W_a
};

}  // namespace attend
