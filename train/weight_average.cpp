#include "train/weight_average.hpp"

#include <ATen/Functions.h>

#include <algorithm>
#include <ranges>

#include "models/layers/layers.hpp"

namespace attend {

WeightAverage::WeightAverage(const torch::nn::Module& model, double decay)
    : model_(model), decay_(decay), trained_(weights_of(model)) {
  for (const auto& [name, tensor] : trained_) average_.emplace_back(name, tensor.detach().clone());
}

void WeightAverage::add(std::int64_t update) {
  const torch::NoGradGuard no_grad;
  const auto t = static_cast<double>(update);
  const double decay = std::min(decay_, (1 + t) / (10 + t));
  const auto tensors = [](const NamedTensors& named) {
    const auto view = named | std::views::values;
    return std::vector<torch::Tensor>(view.begin(), view.end());
  };
  at::_foreach_lerp_(tensors(average_), tensors(trained_), 1 - decay);
}

WeightAverage::InModel::InModel(const WeightAverage& average) : of_(average) {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < of_.trained_.size(); ++i) {
    const torch::Tensor& weight = of_.trained_[i].second;
    kept_.push_back(weight.detach().clone());
    weight.copy_(of_.average_[i].second);
  }
  refresh_weights(of_.model_);
}

WeightAverage::InModel::~InModel() {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < kept_.size(); ++i) of_.trained_[i].second.copy_(kept_[i]);
  refresh_weights(of_.model_);
}

}  // namespace attend
