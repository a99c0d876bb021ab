// Recurrent attention, composed of its parts, and the factory that makes them: the only place that switches on their
// kinds.
//
//   e_ts = score(query, key_s),  a_t = softmax_s(e_t) within the scope,  c_t = choice(a_t, values)
//
// In inference, a threshold may cut small weights a_t (models/layers/cut_weights.hpp).
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "models/attention/choice.hpp"
#include "models/attention/coverage.hpp"
#include "models/attention/kinds.hpp"
#include "models/attention/memory_rows.hpp"
#include "models/attention/scope.hpp"
#include "models/attention/score.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

struct AttentionConfig {
  ScoreKind score = ScoreKind::general;
  std::int64_t longest_source = 0;  // of the location score
  ScopeKind scope = ScopeKind::global;
  std::int64_t half_width = 0;  // of a local scope
  ChoiceKind choice = ChoiceKind::soft;
  double soft_share = 0;  // of the hard choice
  CoverageKind coverage = CoverageKind::none;
  std::int64_t query_width = 0;
  std::int64_t memory_width = 0;
};

// The state of attention between steps, for R rows.
struct AttentionState {
  MemoryRows memory;            // the sentence that each row attends to
  std::int64_t step = 0;        // steps so far
  torch::Tensor coverage_RS;    // sum of past weights, if the model uses coverage
  torch::Tensor weights_RS;     // of the previous step; undefined if the step was fused
  SampledChoices sampled = {};  // sampled in the previous step

  AttentionState select(std::span<const std::int64_t> rows) const;
  void keep_first(std::int64_t count);
};

class Attention {
 public:
  explicit Attention(const AttentionConfig& config);

  // Registers the parts with parameters as modules of the model.
  void register_in(torch::nn::Module& model) const;

  const Score& score() const { return *score_; }

  // The longest sentence that it can attend to; nothing: no limit.
  std::optional<std::int64_t> longest_source() const {
    return config_.score == ScoreKind::location ? std::optional(config_.longest_source) : std::nullopt;
  }

  // Computes the context vectors [R, W] of queries [R, H], in the type of the query, and advances the state.
  torch::Tensor context(const torch::Tensor& query_RH, AttentionState& state, Pass& pass) const;

  // The form in which the fused ops (ops/recurrent.hpp) compute this combination, or the option that they do not
  // support: "--attention hard".
  struct FusedForm {
    ops::AttentionForm form;
    std::string unknown;  // empty: a fused form exists
  };
  FusedForm fused_step() const;
  FusedForm fused_sequence() const;

 private:
  AttentionConfig config_;
  std::shared_ptr<Score> score_;
  std::shared_ptr<Scope> scope_;
  std::shared_ptr<Choice> choice_;
  std::shared_ptr<Coverage> coverage_;  // nullptr: none
};

// Constructs a score. A score that compares queries with the memory directly needs both to have the same width.
struct ScoreRecipe {
  bool needs_equal_widths = false;
  std::function<std::shared_ptr<Score>(const AttentionConfig&)> make;
};
ScoreRecipe recipe_of(ScoreKind kind);

}  // namespace attend
