// An ensemble of models as one StepModel: the distribution of the next token is the members' weighted mean,
//   linear       p(y) = Σ_i w_i p_i(y)           logits log p
//   log-linear   p(y) ∝ Π_i p_i(y)^w_i           logits Σ_i w_i log p_i(y), which search normalises
// with weights that sum to 1 (Sutskever et al. 2014, arXiv 1409.3215, average their models; for both forms see Hinton
// 2002, products of experts). Its state is the members' states. Members may be of different families, but share one
// target vocabulary.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "models/layers/step_model.hpp"

namespace attend {

enum class EnsembleKind { linear, log_linear };
template <>
inline constexpr auto kEnumNames<EnsembleKind> =
    std::to_array<EnumName<EnsembleKind>>({{EnsembleKind::linear, "linear"}, {EnsembleKind::log_linear, "log-linear"}});

// The number of runs that translate together, on which options depend.
inline constexpr Fact kTranslationBy{"translation by"};
inline constexpr std::string_view kSingleRun = "a single run", kSeveralRuns = "several runs";

struct EnsembleConfig {
  EnsembleKind ensemble = EnsembleKind::linear;
  std::vector<std::string> weights;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Ensemble", {kTranslationBy, {kSeveralRuns}});
    visit("ensemble", self.ensemble,
          {.help = "mean of the probabilities (linear) or of their logarithms (log-linear), at every step"});
    visit("weights", self.weights,
          {.help = "weight of each run, divided by their sum; default: equal", .placeholder = "W"});
  }

  // The weights of `num_models` runs, which sum to 1. UserError unless they are as many positive numbers.
  std::vector<double> weights_of(std::size_t num_models, const OptionOrigins& origins) const;
};

class Ensemble final : public StepModel {
 public:
  struct Member {
    std::unique_ptr<const StepModel> model;  // all with the same sequences, vocabulary and device
    double weight = 1;
  };
  // At least one member; the weights sum to 1.
  Ensemble(std::vector<Member> members, EnsembleKind kind);

  std::unique_ptr<DecoderState> start() const override;
  torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const override;
  torch::Device device() const override { return members_.front().model->device(); }

 private:
  std::vector<Member> members_;
  EnsembleKind kind_;
};

}  // namespace attend
