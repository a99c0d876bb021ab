// Attention of a recurrent decoder, one step at a time:
//
//   e_ts = score(query, key_s),  a_t = softmax_s(e_t) within the scope,  c_t = choice(a_t, values)
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "models/attention/memory_rows.hpp"
#include "models/attention/parts.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

struct AttentionConfig {
  ScoreKind score = ScoreKind::general;
  std::int64_t longest_source = 0;  // positions of the location score
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
  MemoryRows memory;              // the sentence that each row attends to
  std::int64_t step = 0;          // steps so far
  torch::Tensor coverage_RS;      // sum of past weights, if the model has coverage
  torch::Tensor query_RH = {};    // of the previous step; undefined if it was fused
  torch::Tensor weights_RS = {};  // the same
  SampledChoices sampled = {};    // of the previous step

  AttentionState select(std::span<const std::int64_t> rows) const;
  void keep_first(std::int64_t count);
};

class Attention {
 public:
  explicit Attention(const AttentionConfig& config);

  // Registers the parts with parameters as modules of the model.
  void register_in(torch::nn::Module& model) const;

  const Score& score() const { return *score_; }

  // The longest sentence that it can attend to; nullopt: no limit.
  std::optional<std::int64_t> longest_source() const {
    return config_.score == ScoreKind::location ? std::optional(config_.longest_source) : std::nullopt;
  }

  // Computes the context vectors [R, W] of queries [R, H], in the type of the query, and advances the state.
  torch::Tensor context(const torch::Tensor& query_RH, AttentionState& state, Pass& pass) const;

  // For observers: the operands of whole sequences whose queries and weights were observed, with one head.
  AttentionOperands operands(const torch::Tensor& queries_BNTH, const torch::Tensor& weights_BNTS,
                             const Keys& memory) const;

  // This combination as a form of the fused ops (ops/recurrent.hpp) for whole sequences.
  struct FusedForm {
    ops::AttentionForm form;
    std::string unsupported;  // the option that prevents it, such as "--attention hard"; empty: none
  };
  FusedForm fused_sequence() const;

 private:
  FusedForm fused_step() const;

  AttentionConfig config_;
  std::shared_ptr<Score> score_;
  std::shared_ptr<Scope> scope_;
  std::shared_ptr<Choice> choice_;
  std::shared_ptr<Coverage> coverage_;  // nullptr: none
};

}  // namespace attend
