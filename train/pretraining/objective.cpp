#include "train/pretraining/objective.hpp"

#include <ATen/Functions.h>

#include "core/error.hpp"

namespace attend {

LanguageObjective::LanguageObjective(LanguageModel model, std::int64_t lanes, std::int64_t rows, torch::Device device)
    : model_(std::move(model)), carried_(lanes), after_(lanes) {
  for (std::vector<torch::Tensor>& parts : carried_) {
    for (const torch::Tensor& part : model_->beginning(rows)) {  // of a model that is not yet on its device
      parts.push_back(at::zeros(part.sizes(), at::TensorOptions(part.dim() == 1 ? at::kCPU : device)));
    }
  }
}

std::vector<LossSum> LanguageObjective::losses(const LanguageBatch& batch, Pass& pass) const {
  Carried carried;
  if (!carried_.empty() && !batch.begins) carried.parts = carried_.at(batch.lane);
  const torch::Tensor hidden_MH = model_->forward(batch.tokens, pass, &carried);
  if (!carried_.empty()) after_.at(batch.lane) = std::move(carried.parts);
  const ops::CrossEntropy result =
      ops::cross_entropy(hidden_MH, model_->output_table(), {}, batch.labels_M, /*label_smoothing=*/0);
  return {{.loss = result.loss, .reported = result.nll()}};
}

void LanguageObjective::show(const LanguageBatch& batch, Watch& watch) const {
  const Sequences first = first_sentences(batch.tokens, num_watched(batch.tokens.layout));
  Pass pass = watch.pass(first.layout, first.layout);  // `decoder` for Transformer layers, `encoder` for recurrent ones
  model_->forward(first, pass);
}

NamedTensors LanguageObjective::state() const {
  NamedTensors state;
  for (std::size_t lane = 0; lane < carried_.size(); ++lane) {
    for (std::size_t part = 0; part < carried_[lane].size(); ++part) {
      state.emplace_back("carried." + std::to_string(lane) + "." + std::to_string(part), carried_[lane][part]);
    }
  }
  return state;
}

void LanguageObjective::update_made(std::span<const double> /*means*/) {
  for (std::size_t lane = 0; lane < after_.size(); ++lane) {
    for (std::size_t part = 0; part < after_[lane].size(); ++part) carried_[lane][part].copy_(after_[lane][part]);
    after_[lane].clear();
  }
}

}  // namespace attend
