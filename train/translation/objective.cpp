#include "train/translation/objective.hpp"

#include <ATen/ATen.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "models/ops/ops.hpp"
#include "train/watch.hpp"

namespace attend {

using torch::Tensor;

namespace {

// Σ_{u≥t} x_u within each sentence, [M].
Tensor sums_to_the_end(const Tensor& x_M, const Layout& layout) {
  std::vector<std::int64_t> last;
  for (std::int64_t b = 0; b < layout.size(); ++b) {
    last.insert(last.end(), layout.length(b), layout.offsets[b + 1] - 1);
  }
  const Tensor sums_M = x_M.cumsum(0);
  return sums_M.index_select(0, ops::to_tensor(last, x_M)) - sums_M + x_M;
}

}  // namespace

Reinforce::Reinforce(double weight, double entropy_weight)
    : weight_(weight), entropy_weight_(entropy_weight), baseline_(at::zeros({2})) {}

Tensor Reinforce::loss(const SampledChoices& sampled, const Tensor& nll_M, const Layout& layout) const {
  const Tensor gain_M = -nll_M.detach().to(at::kDouble);
  const double total = baseline_[1].item<double>();
  const double baseline = total > 0 ? baseline_[0].item<double>() / total : gain_M.mean().item<double>();
  const Tensor advantage_M = sums_to_the_end(gain_M - baseline, layout).to(at::kFloat);
  return -weight_ * (advantage_M * sampled.log_probability_R).sum() - entropy_weight_ * sampled.entropy_R.sum();
}

void Reinforce::move_baseline(double log_probability) {
  baseline_.mul_(0.9).add_(at::tensor({0.1 * log_probability, 0.1}, at::kFloat));
}

namespace {

// The sentences, followed by a copy of them.
Sequences twice(const Sequences& once) {
  Sequences both{.ids_M = at::cat({once.ids_M, once.ids_M}), .layout = once.layout};
  for (std::int64_t b = 0; b < once.layout.size(); ++b) both.layout.append(once.layout.length(b));
  return both;
}

// `cells`: the number of padded weights of `once`.
GuidedCells twice(const GuidedCells& once, std::int64_t cells) {
  if (!once.cells_K.defined()) return {};
  return {at::cat({once.cells_K, once.cells_K + cells}), at::cat({once.shares_K, once.shares_K})};
}

Batch twice(const Batch& once) {
  const std::int64_t B = once.src.layout.size(), S = once.src.layout.max_length, T = once.tgt.layout.max_length;
  return {.src = twice(once.src),
          .tgt = twice(once.tgt),
          .labels_M = at::cat({once.labels_M, once.labels_M}),
          .examples = {},
          .alignment = twice(once.alignment, B * T * S),
          .relations = twice(once.relations, B * S * S)};
}

}  // namespace

double own_word_share(const ObjectiveConfig& config, double u) {
  return config.scheduled_sampling / (1 + std::exp(12 * (0.5 - u)));
}

TranslationObjective::TranslationObjective(Seq2Seq model, const ObjectiveConfig& config, bool samples,
                                           const GuidedAlignmentConfig& alignment,
                                           const GuidedRelationsConfig& relations, double gate_penalty)
    : model_(std::move(model)), config_(config), gates_(gates_of(*model_)), gate_penalty_(gate_penalty) {
  if (samples) reinforce_.emplace(config.reinforce_weight, config.entropy_weight);
  if (alignment.guides()) {
    guided_.push_back({AttentionPlace::cross, *alignment.layer, 0, &Batch::alignment, "alignment", alignment.weight});
  }
  if (relations.guides()) {
    guided_.push_back(
        {AttentionPlace::encoder, *relations.layer, relations.head, &Batch::relations, "relations", relations.weight});
  }
}

std::vector<LossTerm> TranslationObjective::terms(const Batch& batch) const {
  std::vector<LossTerm> terms = {{.name = "loss", .weight = 1, .count = batch.num_labels(), .has_perplexity = true}};
  if (config_.r_drop > 0) {
    terms.push_back({.name = "r_drop", .weight = config_.r_drop, .count = batch.num_labels()});
  }
  if (reinforce_) terms.push_back({.name = "reinforce", .weight = 1, .count = batch.num_labels()});
  for (const GuidedHead& head : guided_) {
    const bool of_target = head.place == AttentionPlace::cross;
    const std::int64_t count = of_target ? batch.num_labels() : batch.src.layout.num_tokens();
    terms.push_back({.name = head.name, .weight = head.weight, .count = count});
  }
  if (!gates_.empty()) terms.push_back({.name = "open_gates", .weight = gate_penalty_, .count = 1});
  return terms;
}

std::vector<LossSum> TranslationObjective::losses(const Batch& batch, Pass& pass) const {
  SampledChoices sampled;
  if (reinforce_) pass.record_choices(sampled);
  if (pass.training()) pass.feed_predictions(own_word_share(config_, pass.progress()));
  GuidedAttention guided(guided_);
  const bool guides = !guided_.empty() && pass.training();
  if (guides) pass.observe(guided);
  const std::optional<Batch> doubled =
      config_.r_drop > 0 && pass.training() ? std::optional(twice(batch)) : std::nullopt;
  const Batch& read = doubled ? *doubled : batch;
  const double share = doubled ? 0.5 : 1;  // of each row of `read` in a sum over those of `batch`
  const torch::Tensor hidden_MH = model_->forward(read, pass);
  const ops::Weight& table_VH = model_->output_table();
  const torch::Tensor bias_V = model_->output_bias();
  const ops::CrossEntropy result =
      ops::cross_entropy(hidden_MH, table_VH, bias_V, read.labels_M, config_.label_smoothing);
  std::vector<LossSum> sums = {{.loss = result.loss, .reported = result.nll() * share}};
  if (doubled) {
    const std::vector<torch::Tensor> halves = hidden_MH.chunk(2);
    const torch::Tensor loss = ops::symmetric_divergence(halves[0], halves[1], table_VH, bias_V);
    sums.push_back({.loss = loss, .reported = loss.detach()});
  }
  if (reinforce_ && pass.training()) {
    const torch::Tensor loss = reinforce_->loss(sampled, result.nll_M, read.tgt.layout);
    sums.push_back({.loss = loss, .reported = loss.detach() * share});
  }
  for (std::size_t i = 0; guides && i < guided_.size(); ++i) {
    const torch::Tensor loss = guided.loss(i, read);
    sums.push_back({.loss = loss, .reported = loss.detach() * share});
  }
  if (!gates_.empty() && pass.training()) {
    std::vector<torch::Tensor> open_N;
    for (const LayerGates& layer : gates_) open_N.push_back(layer.gates->open_probabilities_N());
    const torch::Tensor loss = at::cat(open_N).sum();
    sums.push_back({.loss = loss / share, .reported = loss.detach()});
  }
  return sums;
}

void TranslationObjective::show(const Batch& batch, Watch& watch) const {
  const std::int64_t count = std::min(num_watched(batch.src.layout), num_watched(batch.tgt.layout));
  const Batch first{.src = first_sentences(batch.src, count),
                    .tgt = first_sentences(batch.tgt, count),
                    .labels_M = {},
                    .examples = {}};
  Pass pass = watch.pass(first.src.layout, first.tgt.layout);
  model_->forward(first, pass);
}

// The first term reports the negative log-probability of a word.
void TranslationObjective::update_made(std::span<const double> means) {
  if (reinforce_) reinforce_->move_baseline(-means.front());
}

}  // namespace attend
