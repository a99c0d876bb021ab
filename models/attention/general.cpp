#include "models/attention/general.hpp"

#include "models/ops/recurrent.hpp"

namespace attend {

GeneralAttention::GeneralAttention(const GeneralAttentionConfig& config)
    : weight_(register_module("key", Linear(LinearConfig{.in = config.memory, .out = config.query, .bias = false}))) {}

Keys GeneralAttention::prepare(const torch::Tensor& memory_SV, const Layout& layout) const {
  return {.keys_SA = weight_->forward(memory_SV), .values_SV = memory_SV, .layout = layout};
}

Attended GeneralAttention::attend(const torch::Tensor& query_RH, const Keys& keys, const StepContext& step) const {
  const auto [context, weights] =
      ops::dot_attention(query_RH, keys.keys_SA, keys.values_SV, keys.layout, step.sentences);
  return {context, weights};
}

}  // namespace attend
