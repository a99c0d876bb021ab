#include "eval/search/next_tokens.hpp"

#include <ATen/ATen.h>

#include <cmath>

#include "models/ops/ops.hpp"

namespace attend {

NextTokens::NextTokens(const torch::Tensor& logits_RV, std::int64_t per_row, bool whole,
                       const LogitsProcessors& processors, std::span<const OpenSentence> sentences) {
  whole = whole || !processors.empty();
  if (whole) {
    log_probs_RV_ = at::log_softmax(logits_RV, -1).cpu().contiguous();
    scores_RV_ = processors.empty() ? log_probs_RV_ : log_probs_RV_.clone();
    const std::int64_t size = scores_RV_.size(1);
    float* row = processors.empty() ? nullptr : scores_RV_.data_ptr<float>();
    for (const OpenSentence& sentence : sentences) {
      for (const Live& live : sentence.live) {
        for (const auto& processor : processors) {
          processor(sentence, live, {row, static_cast<std::size_t>(size)});
        }
        if (row != nullptr) row += size;
      }
    }
  }
  if (per_row == 0) return;
  const auto top = ops::top_log_probs(whole ? scores_RV_ : logits_RV, per_row);
  const std::int64_t num_rows = logits_RV.size(0);
  best_.reserve(num_rows * top.k);
  for (std::int64_t r = 0; r < num_rows; ++r) {
    for (std::int64_t j = r * top.k; j < (r + 1) * top.k; ++j) {
      const std::int64_t id = top.ids[j];
      const float log_prob = whole ? log_probs(r)[id] : top.values[j];
      const float score = whole ? scores(r)[id] : log_prob;
      if (std::isfinite(score)) best_.push_back({.id = id, .log_prob = log_prob, .score = score});
    }
    starts_.push_back(best_.size());
  }
}

}  // namespace attend
