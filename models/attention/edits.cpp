#include "models/attention/edits.hpp"

#include <cmath>

namespace attend {

using torch::Tensor;

namespace {

constexpr double kTemperature = 0.33, kLow = -0.1, kHigh = 1.1;  // β, γ, ζ
constexpr double kOpen = 3;                                      // log α at the start

Tensor stretched(const Tensor& s_N) { return (s_N * (kHigh - kLow) + kLow).clamp(0, 1); }

}  // namespace

LearntGates::LearntGates(AttentionPlace place, std::int64_t heads)
    : place_(place), log_alpha_(register_parameter("log_alpha", torch::empty({heads}))) {}

Tensor LearntGates::sample_N(RandomStream& random) const {
  std::vector<float> noise;
  for (std::int64_t head = 0; head < log_alpha_.size(0); ++head) {
    const double u = random.uniform();
    noise.push_back(static_cast<float>(std::log(u) - std::log1p(-u)));
  }
  return stretched(at::sigmoid((at::tensor(noise).to(log_alpha_.device()) + log_alpha_) / kTemperature));
}

Tensor LearntGates::values_N() const { return stretched(at::sigmoid(log_alpha_)); }

Tensor LearntGates::open_probabilities_N() const {
  return at::sigmoid(log_alpha_ - kTemperature * std::log(-kLow / kHigh));
}

Tensor LearntGates::gated(const Tensor& context_MH, Pass& pass) const {
  Tensor gates_N;
  if (pass.training()) {
    RandomStream random = pass.random();
    gates_N = sample_N(random);
  } else {
    gates_N = values_N();
  }
  const Tensor gates_N1 = gates_N.to(context_MH.scalar_type()).unsqueeze(1);
  return (context_MH.unflatten(1, {gates_N.size(0), -1}) * gates_N1).flatten(1);
}

void LearntGates::initialise(RandomStream& /*random*/) {
  const torch::NoGradGuard no_grad;
  log_alpha_.fill_(kOpen);
}

std::vector<LayerGates> gates_of(const torch::nn::Module& model) {
  std::vector<LayerGates> found;
  std::map<AttentionPlace, std::int64_t> layers;  // so far
  for (const auto& module : model.modules(/*include_self=*/false)) {
    const auto* gates = dynamic_cast<const LearntGates*>(module.get());
    if (gates != nullptr) found.push_back({gates->place(), layers[gates->place()]++, gates});
  }
  return found;
}

}  // namespace attend
