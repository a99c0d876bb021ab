// Attention of a recurrent decoder, and its coverage of the source.
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

// Coverage (Tu et al. 2016, arXiv 1601.04811, 3.1: one-dimensional linguistic coverage; its fertility is 1 here,
// predicted in the paper): the sum of a position's past weights, C_t(s) = Σ_{u<t} a_u(s), changes its key to
// key_s + C_t(s) w. With the additive score this gives the paper's vᵀ tanh(W q + U h_s + w C_t(s)).
class Coverage : public Layer {
 public:
  explicit Coverage(std::int64_t key_width) : weight_(register_parameter("weight", torch::empty({key_width}))) {}

  torch::Tensor add_to(const torch::Tensor& keys_RSA, const torch::Tensor& coverage_RS) const {
    return keys_RSA + coverage_RS.unsqueeze(2) * weight_;
  }

  // Adds coverage to the form of the fused step (ops/recurrent.hpp).
  void describe(ops::AttentionForm& form) const { form.coverage_A = weight_; }

  void initialise(RandomStream& random) override { fill_uniform(weight_, 0.1, random); }

 private:
  torch::Tensor weight_;  // w
};

// Attention of a recurrent decoder, one step at a time:
//
//   e_ts = score(query, key_s),  a_t = softmax_s(e_t) within the scope,  c_t = choice(a_t, values)

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
  MemoryRows memory;                    // the sentence that each row attends to
  std::int64_t step = 0;                // steps so far
  torch::Tensor coverage_RS;            // sum of past weights, if the model has coverage
  torch::Tensor weights_RS;             // of the previous step; undefined if it was fused
  SampledChoices sampled = {};          // of the previous step
  AttentionArithmetic arithmetic = {};  // of the previous step, if observed; its batch are the R rows

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
