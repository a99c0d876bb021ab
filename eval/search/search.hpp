// Search over a StepModel: a loop of steps in which logits processors change the scores of the next tokens and a
// strategy (strategies.hpp) chooses the hypotheses that live on. A sentence that is done leaves the batch. While a
// prompt is read, one row stands for all hypotheses that will follow it, and nothing is chosen.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "eval/search/config.hpp"
#include "eval/search/hypothesis.hpp"
#include "models/layers/step_model.hpp"

namespace attend {

struct SearchRequest {
  const StepModel& model;
  std::span<const Wanted> wanted;  // one for each sequence of the model
  TargetIds ids;
  const SearchConfig& config;
  // Called after each step with the tokens so far of the first hypothesis of each sentence that is not done.
  std::function<void(std::span<const std::int32_t> ids)> on_step = {};
};

// The results for every sequence, at least one each: for a beam the best `nbest` hypotheses, best first; else the
// samples in their order. Sequences are independent. If a model's logits are not finite, the hypothesis ends there.
// Interrupted after SIGINT or SIGTERM, which are polled before every step.
std::vector<std::vector<Hypothesis>> search(const SearchRequest& request, Pass& pass);

}  // namespace attend
