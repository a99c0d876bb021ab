#include "models/attention/attention.hpp"

#include <ATen/ATen.h>

#include "models/attention/additive.hpp"
#include "models/attention/dot.hpp"
#include "models/attention/elu1.hpp"
#include "models/attention/general.hpp"
#include "models/attention/hard.hpp"
#include "models/attention/local_m.hpp"
#include "models/attention/local_p.hpp"
#include "models/attention/location.hpp"
#include "models/attention/rbf.hpp"
#include "models/attention/scaled_dot.hpp"
#include "models/layers/cut_weights.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/padded.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

using torch::Tensor;

namespace {

std::shared_ptr<Scope> make_scope(const AttentionConfig& config) {
  switch (config.scope) {
    case ScopeKind::global:
      return std::make_shared<GlobalScope>();
    case ScopeKind::local_m:
      return std::make_shared<LocalMonotonicScope>(config.half_width);
    case ScopeKind::local_p:
      return std::make_shared<LocalPredictiveScope>(config.query_width, config.half_width);
  }
  return nullptr;
}

std::shared_ptr<Choice> make_choice(const AttentionConfig& config) {
  switch (config.choice) {
    case ChoiceKind::soft:
      return std::make_shared<SoftChoice>();
    case ChoiceKind::hard:
      return std::make_shared<HardChoice>(config.soft_share);
  }
  return nullptr;
}

std::shared_ptr<Coverage> make_coverage(const AttentionConfig& config) {
  switch (config.coverage) {
    case CoverageKind::none:
      return nullptr;
    case CoverageKind::additive:
      return std::make_shared<Coverage>(config.query_width);
  }
  return nullptr;
}

template <class Kind>
std::string option(std::string_view name, Kind kind) {
  return "--" + std::string(name) + " " + std::string(name_of(kind));
}

// Constructs a score from the widths of query and memory.
template <class S>
std::shared_ptr<Score> of_widths(const AttentionConfig& config) {
  return std::make_shared<S>(config.query_width, config.memory_width);
}

}  // namespace

ScoreRecipe recipe_of(ScoreKind kind) {
  switch (kind) {
    case ScoreKind::dot:
      return {true, [](const auto&) { return std::make_shared<DotScore>(); }};
    case ScoreKind::scaled_dot:
      return {true, [](const auto&) { return std::make_shared<ScaledDotScore>(); }};
    case ScoreKind::general:
      return {false, of_widths<GeneralScore>};
    case ScoreKind::additive:
      return {false, of_widths<AdditiveScore>};
    case ScoreKind::location:
      return {false, [](const auto& config) {
                return std::make_shared<LocationScore>(config.query_width, config.longest_source);
              }};
    case ScoreKind::rbf:
      return {false, of_widths<RbfScore>};
    case ScoreKind::elu1:
      return {false, of_widths<Elu1Score>};
  }
  return {};
}

AttentionState AttentionState::select(std::span<const std::int64_t> rows) const {
  AttentionState chosen{.memory = memory.select(rows), .step = step, .coverage_RS = coverage_RS, .weights_RS = {}};
  if (coverage_RS.defined()) {
    chosen.coverage_RS = coverage_RS.index_select(0, ops::to_tensor(rows, coverage_RS));
  }
  return chosen;
}

void AttentionState::keep_first(std::int64_t count) {
  memory.keep_first(count);
  if (coverage_RS.defined()) coverage_RS = coverage_RS.narrow(0, 0, count);
}

Attention::Attention(const AttentionConfig& config)
    : config_(config),
      score_(recipe_of(config.score).make(config)),
      scope_(make_scope(config)),
      choice_(make_choice(config)),
      coverage_(make_coverage(config)) {}

void Attention::register_in(torch::nn::Module& model) const {
  model.register_module("attention", score_);
  model.register_module("scope", scope_);
  if (coverage_ != nullptr) model.register_module("coverage", coverage_);
}

Attention::FusedForm Attention::fused_step() const {
  FusedForm result;
  scope_->enter(result.form);
  if (coverage_ != nullptr) coverage_->enter(result.form);
  if (!score_->enter(result.form)) {
    result.unknown = option("score", config_.score);
  } else if (!choice_->is_soft()) {
    result.unknown = option("attention", config_.choice);
  }
  return result;
}

Attention::FusedForm Attention::fused_sequence() const {
  FusedForm result = fused_step();
  if (result.unknown.empty() && coverage_ != nullptr) result.unknown = option("coverage", config_.coverage);
  return result;
}

Tensor Attention::context(const Tensor& query_RH, AttentionState& state, Pass& pass) const {
  const MemoryRows& memory = state.memory;
  const std::int64_t step = state.step++;
  if (coverage_ != nullptr && !state.coverage_RS.defined()) {
    state.coverage_RS =
        at::zeros({query_RH.size(0), memory.keys().layout.max_length}, query_RH.options().dtype(at::kFloat));
  }
  if (ops::may_fuse_steps(query_RH) && !pass.needs_weights()) {
    if (const auto [form, unknown] = fused_step(); unknown.empty()) {
      const Keys& keys = memory.keys();  // the equations below, over the ragged memory
      const auto [context_RW, weights_RS] =
          ops::attention_step(form, query_RH, {keys.keys_SA, keys.values_SW, keys.layout},
                              {.sentences = memory.sentences(), .step = step, .coverage_RS = state.coverage_RS});
      if (coverage_ != nullptr) state.coverage_RS = state.coverage_RS + weights_RS;
      return context_RW;
    }
  }
  Tensor keys_RSA = memory.keys_RSA();
  if (coverage_ != nullptr) keys_RSA = coverage_->enter(keys_RSA, state.coverage_RS);
  const auto [outside_RS, factor_RS] = scope_->window(query_RH, memory, step);
  Tensor weights_RS = ops::masked_softmax(score_->energies(query_RH, keys_RSA), outside_RS);
  if (factor_RS.defined()) weights_RS = weights_RS * factor_RS;
  weights_RS = cut_weights(weights_RS, pass.attention_threshold());
  if (coverage_ != nullptr) state.coverage_RS = state.coverage_RS + weights_RS;
  state.weights_RS = weights_RS;
  return choice_->context(weights_RS, memory.values_RSW(), pass, state.sampled).to(query_RH.scalar_type());
}

}  // namespace attend
