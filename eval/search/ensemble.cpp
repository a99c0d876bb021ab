#include "eval/search/ensemble.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

struct EnsembleState : DecoderState {
  std::vector<std::unique_ptr<DecoderState>> members;
  void select(std::span<const std::int64_t> rows) override {
    for (const auto& member : members) member->select(rows);
  }
};

}  // namespace

std::vector<double> EnsembleConfig::weights_of(std::size_t num_models, const OptionOrigins& origins) const {
  if (weights.empty()) return std::vector<double>(num_models, 1.0 / static_cast<double>(num_models));
  if (weights.size() != num_models) {
    throw UserError(origins("weights") + ": " + counted(std::ssize(weights), "weight") + " for " +
                        counted(static_cast<std::int64_t>(num_models), "run"),
                    "give one for each run, in their order");
  }
  std::vector<double> values;
  for (const std::string& word : weights) {
    const double value = parse_number<double>(word).value_or(0);
    if (value <= 0) {
      throw UserError(origins("weights") + ": \"" + word + "\" is not a positive number",
                      "leave out runs without weight");
    }
    values.push_back(value);
  }
  const int exponent = std::ilogb(*std::ranges::max_element(values));  // of 1e308 and 1e308, the sum overflows
  double sum = 0;
  for (double& value : values) sum += value = std::ldexp(value, -exponent);
  for (double& value : values) value /= sum;
  return values;
}

Ensemble::Ensemble(std::vector<Member> members, EnsembleKind kind) : members_(std::move(members)), kind_(kind) {
  ensure(!members_.empty(), "an ensemble has members");
}

std::unique_ptr<DecoderState> Ensemble::start() const {
  auto state = std::make_unique<EnsembleState>();
  for (const Member& member : members_) state->members.push_back(member.model->start());
  return state;
}

torch::Tensor Ensemble::step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const {
  const auto& states = own<EnsembleState>(state).members;
  at::Tensor sum_RV;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto& [model, weight] = members_[i];
    const at::Tensor log_probs_RV = at::log_softmax(model->step(*states[i], previous_R, pass), -1);
    const at::Tensor term_RV = kind_ == EnsembleKind::linear ? log_probs_RV + std::log(weight) : log_probs_RV * weight;
    if (!sum_RV.defined()) {
      sum_RV = term_RV;
    } else {
      sum_RV = kind_ == EnsembleKind::linear ? at::logaddexp(sum_RV, term_RV) : sum_RV + term_RV;
    }
  }
  return sum_RV;
}

}  // namespace attend
