#include "train/average.hpp"

#include <ATen/Functions.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <ranges>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/safetensors.hpp"
#include "models/layers/layers.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/kind.hpp"
#include "models/run/new_run.hpp"
#include "train/checkpoint.hpp"

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

namespace {

namespace fs = std::filesystem;

std::vector<std::int64_t> chosen_steps(const fs::path& run, const AverageConfig& config) {
  const std::vector<std::int64_t> all = checkpoint_steps(run);
  if (all.empty()) throw UserError(run.string() + ": no checkpoint", "give the directory of a trained run");
  std::vector<std::int64_t> steps = all;
  std::string which = "checkpoints", keep = "keep-last";
  if (config.best) {
    steps.clear();
    const auto newest = Checkpoint::newest(run);
    for (const TrainState::Score& score : newest ? newest->state().scores : std::vector<TrainState::Score>()) {
      if (std::binary_search(all.begin(), all.end(), score.step)) steps.push_back(score.step);
    }
    std::reverse(steps.begin(), steps.end());  // the best last, like the newest above
    which = "validated checkpoints";
    keep = "keep-best";
  }
  const std::size_t wanted = config.best.value_or(config.last.value_or(std::ssize(steps)));
  if (steps.size() < wanted) {
    throw UserError(
        fmt::format("{}: {} {}, but {} were requested", run.string(), steps.size(), which, wanted),
        fmt::format("request fewer, or train with --{} {} or more (it may be changed when resuming)", keep, wanted));
  }
  steps.erase(steps.begin(), steps.end() - wanted);
  return steps;
}

// Sums in fp64, one tensor at a time.
NamedTensors mean_of(const std::deque<SafetensorsFile>& files, const fs::path& run) {
  NamedTensors means;
  for (const TensorView& first : files.front().tensors()) {
    torch::Tensor sum = torch::zeros(first.shape, torch::kDouble);
    for (const SafetensorsFile& file : files) {
      const TensorView* found = file.find(first.name);
      if (found == nullptr || found->shape != first.shape || !is_float(found->dtype)) {
        throw UserError(run.string() + ": its checkpoints differ in tensor " + first.name);
      }
      sum += as_fp32(*found);
    }
    means.emplace_back(first.name, (sum / static_cast<double>(files.size())).to(torch::kFloat));
  }
  return means;
}

}  // namespace

void AverageConfig::validate(const OptionOrigins& origins) const {
  if (last && best) throw UserError(origins("best") + ": cannot be combined with --last", "leave one of them out");
}

void average_checkpoints(const AverageConfig& config) {
  refuse_existing(config.output, "--output");
  const fs::path run = run_of_best_seed(config.run);
  const std::vector<std::int64_t> steps = chosen_steps(run, config);
  std::deque<SafetensorsFile> files;
  std::string names;
  for (const std::int64_t step : steps) {
    verify_manifest(checkpoint_path(run, step));
    files.emplace_back(checkpoint_path(run, step) / "model.safetensors");
    names += " step-" + std::to_string(step);
  }

  StagedDirectory staged(config.output);
  write_file_atomic(staged.path() / "config.toml", read_file(run / "config.toml", kMaxConfigBytes));
  write_derived_run(staged.path(), run, "average_of");
  TensorMetadata metadata = files.front().metadata();  // the identity of the weights
  metadata["mean_of"] = names.substr(1);
  write_only_checkpoint(staged.path(), mean_of(files, run), metadata, std::ranges::max(steps));
  staged.commit();
  log::info("wrote the mean of{} to {}", names, config.output);
}

}  // namespace attend
