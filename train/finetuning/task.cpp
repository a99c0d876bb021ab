#include "train/finetuning/task.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "data/batch/batch.hpp"
#include "data/task/record_format.hpp"
#include "eval/answers/answers.hpp"
#include "models/run/kind.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// The weight of errors on each label: as given, or if balanced n / (L n_l), where n_l of the n training labels are l.
// Their mean over the training labels is 1.
torch::Tensor label_weights(const std::vector<std::string>& given, const LabelledTask& task, const TaskSplit& train,
                            torch::Device device) {
  if (given.empty()) return {};
  std::vector<double> weights = given_label_weights(given, task);
  if (weights.empty()) {
    const std::size_t labels = task.labels.size();
    std::vector<double> counts(labels);
    for (const Sample& sample : train.samples) {
      for (const std::int64_t tag : sample.tags) counts[tag] += 1;
      if (sample.gold.label) counts[*sample.gold.label] += 1;
      for (std::size_t label = 0; label < sample.gold.labels.size(); ++label) {
        counts[label] += static_cast<double>(sample.gold.labels[label]);
      }
    }
    const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
    for (const double count : counts) weights.push_back(count > 0 ? all / (static_cast<double>(labels) * count) : 0);
  }
  return at::tensor(weights, at::kDouble).to(device, at::kFloat);
}

// The loss of a task's head.
class HeadObjective : public Objective<LabelledBatch> {
 public:
  // Errors are weighted by their label's weight if `label_weights_L` is defined.
  HeadObjective(TextModel model, torch::Tensor label_weights_L)
      : model_(std::move(model)), label_weights_L_(std::move(label_weights_L)) {}

  std::vector<LossTerm> terms(const LabelledBatch& batch) const override {
    return {{.name = "loss", .weight = 1, .count = model_->head().count(batch)}};
  }

  std::vector<LossSum> losses(const LabelledBatch& batch, Pass& pass) const override {
    const torch::Tensor loss = model_->head().loss(model_->logits(batch, pass), batch, label_weights_L_);
    return {{.loss = loss, .reported = loss.detach()}};
  }

 private:
  TextModel model_;
  torch::Tensor label_weights_L_;
};

// The name of the score on a validation file after the first.
std::string score_name(const fs::path& file) { return file.stem().string() + "_score"; }

// The training samples, reshuffled every epoch.
class ShuffledSamples {
 public:
  ShuffledSamples(const std::vector<Sample>& samples, std::int64_t batch_size, std::uint64_t seed)
      : samples_(&samples), batch_size_(batch_size), seed_(seed), order_(samples.size()) {}

  std::int64_t begin_epoch(std::int64_t epoch) {
    std::iota(order_.begin(), order_.end(), 0U);
    RandomStream random(combine_keys(seed_, epoch, 0x5a17));
    shuffle(order_, random);
    return (std::ssize(order_) + batch_size_ - 1) / batch_size_;
  }
  LabelledBatch batch(std::int64_t number) const {
    std::vector<const Sample*> samples;
    const std::int64_t from = number * batch_size_, to = std::min(from + batch_size_, std::ssize(order_));
    for (std::int64_t i = from; i < to; ++i) samples.push_back(&(*samples_)[order_[i]]);
    return make_labelled_batch(samples);
  }

 private:
  const std::vector<Sample>* samples_;
  std::int64_t batch_size_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::vector<double> given_label_weights(const std::vector<std::string>& given, const LabelledTask& task) {
  std::vector<double> weights;
  if (given.empty() || given == std::vector<std::string>{"balanced"}) return weights;
  for (const std::string& word : given) {
    const auto weight = parse_number<double>(word);
    if (!weight || *weight < 0) {
      throw UserError("--label-weights: \"" + word + "\" is not a number of at least 0",
                      "give one for every label, or balanced");
    }
    weights.push_back(*weight);
  }
  if (weights.size() != task.labels.size()) {
    throw UserError("--label-weights: " + counted(std::ssize(weights), "number") + ", but the task has " +
                        counted(std::ssize(task.labels), "label"),
                    "give one for every label, or balanced");
  }
  if (std::ranges::all_of(weights, [](double weight) { return weight == 0; })) {
    throw UserError("--label-weights: all are 0, which leaves nothing to learn", "give one above 0");
  }
  return weights;
}

std::vector<std::string> metric_names(const LabelledTask& task, const std::vector<std::string>& valid_files) {
  std::vector<std::string> names = {"loss"};
  for (const std::string_view name : format_of(task.kind).metrics(task)) names.emplace_back(name);
  names.emplace_back("score");
  for (std::size_t i = 1; i < valid_files.size(); ++i) names.push_back(score_name(valid_files[i]));
  return names;
}

FinetuningTask::FinetuningTask(TextModel model, const LabelledTask& task, const Tokenizer& tokenizer,
                               const FinetuningConfig& config, TaskSplit train, std::vector<TaskSplit> valid)
    : StreamTask(std::make_unique<HeadObjective>(
                     model, label_weights(config.label_weights, task, train, torch::Device(config.run.device))),
                 identity_of(config.model, task, tokenizer), torch::Device(config.run.device)),
      model_(std::move(model)),
      labelled_(task),
      config_(config),
      train_(std::move(train)),
      valid_(std::move(valid)) {
  for (const auto& parameter : model_->named_parameters()) {
    top_ = std::max(top_, model_->encoder().layer_of(parameter.key()).value_or(0));
  }
  for (const auto& parameter : model_->named_parameters()) {
    if (depth(parameter.key()) < config.freeze) parameter.value().set_requires_grad(false);
  }
}

// A norm above all layers belongs to the highest layer.
std::int64_t FinetuningTask::depth(const std::string& parameter) const {
  const TextEncoder& encoder = model_->encoder();
  return encoder.owns(parameter) ? encoder.layer_of(parameter).value_or(top_) : top_ + 1;
}

double FinetuningTask::rate_of(const std::string& parameter) const {
  return std::pow(config_.layer_decay, top_ + 1 - depth(parameter));
}

std::int64_t FinetuningTask::batches_per_epoch() const {
  return (std::ssize(train_.samples) + config_.batch_size - 1) / config_.batch_size;
}

std::unique_ptr<BatchStream<LabelledBatch>> FinetuningTask::stream_from(DataPosition position, Shard shard) {
  const ShuffledSamples source(train_.samples, config_.batch_size, config_.trainer.seed);
  return std::make_unique<BatchStream<LabelledBatch>>(source, position, shard);
}

std::vector<std::int64_t> FinetuningTask::lines_of(const LabelledBatch& batch) const {
  std::vector<std::int64_t> lines = batch.examples;
  for (std::int64_t& line : lines) line = train_.line(line);
  return lines;
}

MicroBatch FinetuningTask::largest() {
  std::vector<const Sample*> samples(train_.samples.size());
  std::ranges::transform(train_.samples, samples.begin(), [](const Sample& sample) { return &sample; });
  std::ranges::stable_sort(samples, std::greater<>(), [](const Sample* sample) { return sample->ids.size(); });
  samples.resize(std::min<std::size_t>(samples.size(), config_.batch_size));
  return micro_batch(make_labelled_batch(samples));
}

std::vector<std::string> FinetuningTask::metrics() const {
  std::vector<std::string> files;
  for (const TaskSplit& split : valid_) files.push_back(split.file);
  return metric_names(labelled_, files);
}

std::vector<ValidationMetric> FinetuningTask::validate(const fs::path& /*run*/, std::int64_t /*step*/, Ranks& ranks) {
  std::vector<ValidationMetric> found;
  for (const std::string& name : metrics()) found.push_back({.name = name});
  const std::vector<double> values = ranks.on_first([&] {
    std::map<std::string, double> by_name;
    for (const TaskSplit& split : valid_) {
      const std::unique_ptr<TaskAnswers> answers =
          answer(*model_, split, labelled_, config_.answers, torch::Device(config_.run.device), Labelled::yes);
      const bool first = by_name.empty();
      if (first) by_name["loss"] = answers->loss.value();
      for (const MetricValue& metric : score(*answers, /*with_intervals=*/false)) {
        if (first) by_name[metric.name] = metric.value;
        if (!first && metric.name == "score") by_name[score_name(split.file)] = metric.value;
      }
    }
    std::vector<double> in_order;
    for (const ValidationMetric& metric : found) in_order.push_back(by_name.at(metric.name));
    return in_order;
  });
  for (std::size_t i = 0; i < found.size(); ++i) found[i].value = values[i];
  return found;
}

}  // namespace attend
