#include "train/pretraining/objective.hpp"

#include <ATen/Functions.h>

#include <algorithm>

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

ops::CrossEntropy predict_masked(const LanguageModelImpl& model, const PretrainingBatch& batch, Pass& pass) {
  const torch::Tensor hidden_KH = model.states_of_masked(batch.input.tokens, batch.masked, pass);
  return ops::cross_entropy(hidden_KH, model.output_table(), {}, batch.labels_K, /*label_smoothing=*/0);
}

LossSum LanguageObjective::hybrid_loss(const LanguageBatch& batch, Pass& pass) const {
  LossSum sum;
  const auto add = [&sum](const ops::CrossEntropy& result, std::int64_t sequences) {
    const double share =
        static_cast<double>(sequences) / static_cast<double>(std::max<std::int64_t>(1, result.nll_M.size(0)));
    const torch::Tensor loss = result.loss * share, nll = result.nll() * share;
    sum = sum.loss.defined() ? LossSum{.loss = sum.loss + loss, .reported = sum.reported + nll}
                             : LossSum{.loss = loss, .reported = nll};
  };
  if (const std::int64_t count = batch.tokens.layout.size(); count > 0) {
    add(ops::cross_entropy(model_->forward(batch.tokens, pass), model_->output_table(), {}, batch.labels_M, 0), count);
  }
  if (const std::int64_t count = batch.masked.input.tokens.layout.size(); count > 0) {
    add(predict_masked(*model_, batch.masked, pass), count);
  }
  return sum;
}

std::vector<LossSum> LanguageObjective::losses(const LanguageBatch& batch, Pass& pass) const {
  if (model_->is_hybrid()) return {hybrid_loss(batch, pass)};
  Carried carried;
  if (!carried_.empty() && !batch.begins) carried.parts = carried_.at(batch.lane);
  const torch::Tensor hidden_MH = model_->forward(batch.tokens, pass, &carried);
  if (!carried_.empty()) after_.at(batch.lane) = std::move(carried.parts);
  const ops::CrossEntropy result =
      ops::cross_entropy(hidden_MH, model_->output_table(), {}, batch.labels_M, /*label_smoothing=*/0);
  return {{.loss = result.loss, .reported = result.nll()}};
}

void LanguageObjective::show(const LanguageBatch& batch, Watch& watch) const {
  const bool both_sides = batch.tokens.layout.size() == 0;  // of a hybrid
  const Sequences& all = both_sides ? batch.masked.input.tokens : batch.tokens;
  const Sequences first = first_sentences(all, num_watched(all.layout));
  Pass pass = watch.pass(first.layout, first.layout);  // `decoder` for Transformer layers, `encoder` for recurrent ones
  if (both_sides) {
    model_->read_both_sides(first, pass, {});
  } else {
    model_->forward(first, pass);
  }
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
