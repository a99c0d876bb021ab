#include "models/attention/recurrent_attention.hpp"

#include "models/attention/weights.hpp"
#include "models/ops/dispatch.hpp"

namespace attend {

using torch::Tensor;

namespace {

template <class Kind>
std::string option(std::string_view name, Kind kind) {
  return "--" + std::string(name) + " " + std::string(name_of(kind));
}

}  // namespace

AttentionState AttentionState::select(std::span<const std::int64_t> rows) const {
  AttentionState chosen{.memory = memory.select(rows), .step = step, .coverage_RS = coverage_RS};
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
      score_(recipe_of(config.score)
                 .make({.query_width = config.query_width,
                        .memory_width = config.memory_width,
                        .longest = config.longest_source})),
      scope_(make_scope(config.scope, config.query_width, config.half_width)),
      choice_(make_choice(config.choice, config.soft_share)),
      coverage_(config.coverage == CoverageKind::none ? nullptr : std::make_shared<Coverage>(config.query_width)) {}

void Attention::register_in(torch::nn::Module& model) const {
  model.register_module("attention", score_);
  model.register_module("scope", scope_);
  if (coverage_ != nullptr) model.register_module("coverage", coverage_);
}

Attention::FusedForm Attention::fused_step() const {
  FusedForm result;
  if (coverage_ != nullptr) coverage_->describe(result.form);
  if (!scope_->describe(result.form)) {
    result.unsupported = option("scope", config_.scope);
  } else if (!score_->describe(result.form)) {
    result.unsupported = option("score", config_.score);
  } else if (config_.choice != ChoiceKind::soft) {
    result.unsupported = option("attention", config_.choice);
  }
  return result;
}

Attention::FusedForm Attention::fused_sequence() const {
  FusedForm result = fused_step();
  if (result.unsupported.empty() && coverage_ != nullptr) result.unsupported = option("coverage", config_.coverage);
  return result;
}

Tensor Attention::context(const Tensor& query_RH, AttentionState& state, Pass& pass) const {
  const MemoryRows& memory = state.memory;
  const std::int64_t step = state.step++;
  if (coverage_ != nullptr && !state.coverage_RS.defined()) {
    state.coverage_RS =
        at::zeros({query_RH.size(0), memory.keys().layout.max_length}, query_RH.options().dtype(at::kFloat));
  }
  if (ops::may_fuse_steps(query_RH) && !pass.needs_weights(AttentionPlace::cross, 0)) {
    if (const auto [form, unsupported] = fused_step(); unsupported.empty()) {
      const auto [context_RW, weights_RS] = ops::attention_step(  // equals the code below
          form, query_RH, memory.keys(),
          {.sentences = memory.sentences(), .step = step, .coverage_RS = state.coverage_RS});
      if (coverage_ != nullptr) state.coverage_RS = state.coverage_RS + weights_RS;
      return context_RW;
    }
  }
  Tensor keys_RSA = memory.keys_RSA();
  if (coverage_ != nullptr) keys_RSA = coverage_->add_to(keys_RSA, state.coverage_RS);
  const Places places{.padding_1S = memory.padding_RS().unsqueeze(1), .first = step};
  const Tensor query_R1H = query_RH.unsqueeze(1);
  const Window window = scope_->window(query_R1H, places);
  Tensor weights_R1S = window.scaled(window.softmax(score_->energies(query_R1H, keys_RSA, places)));
  const Places of_heads{.padding_1S = places.padding_1S.unsqueeze(1), .first = step};  // one head
  weights_R1S = pass.edited(AttentionPlace::cross, 0, weights_R1S.unsqueeze(1), of_heads).squeeze(1);
  state.query_RH = query_RH;
  state.weights_RS = weights_R1S.squeeze(1);
  if (coverage_ != nullptr) state.coverage_RS = state.coverage_RS + state.weights_RS;
  const Tensor context_R1W = choice_->context(weights_R1S, memory.values_RSW(), pass, state.sampled);
  return context_R1W.squeeze(1).to(query_RH.scalar_type());
}

AttentionOperands Attention::operands(const Tensor& queries_BNTH, const Tensor& weights_BNTS,
                                      const Keys& memory) const {
  const auto padded = [&](const Tensor& x) { return ops::pad(x, memory.layout).to(at::kFloat).unsqueeze(1); };
  const Tensor& padding_BS = memory.layout.on(weights_BNTS.device()).padding_BT;
  return {.score = score_,
          .scope = scope_,
          .queries_BNTH = queries_BNTH,
          .keys_BNSA = padded(memory.keys_SA),
          .values_BNSW = padded(memory.values_SW),
          .places = {.padding_1S = padding_BS.unsqueeze(1).unsqueeze(1)},
          .coverage = coverage_,
          .coverage_BNTS = coverage_ == nullptr ? Tensor() : weights_BNTS.cumsum(2) - weights_BNTS,
          .takes_largest = config_.choice == ChoiceKind::hard};
}

}  // namespace attend
