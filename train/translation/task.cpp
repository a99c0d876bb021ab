#include "train/translation/task.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/signals.hpp"
#include "data/text/parallel.hpp"
#include "eval/metrics/bleu.hpp"
#include "eval/translate.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/ops.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

BatchIds batch_ids(const TokenizerPair& tokenizers) {
  return {.src_eos = tokenizers.src.special().eos,
          .tgt_bos = tokenizers.tgt.special().bos,
          .tgt_eos = tokenizers.tgt.special().eos};
}

Batch on_device(Batch batch, torch::Device device) {
  batch.src.ids_M = batch.src.ids_M.to(device);
  batch.tgt.ids_M = batch.tgt.ids_M.to(device);
  batch.labels_M = batch.labels_M.to(device);
  return batch;
}

}  // namespace

TranslationTask::TranslationTask(Seq2Seq model, const TokenizerPair& tokenizers, const TranslationConfig& config,
                                 EncodedCorpus train, std::optional<EncodedCorpus> valid)
    : model_(std::move(model)),
      tokenizers_(tokenizers),
      identity_(identity_of(config.model, tokenizers)),
      device_(config.run.device),
      threads_(*config.run.threads),
      label_smoothing_(config.label_smoothing),
      ids_(batch_ids(tokenizers)),
      train_(std::move(train)),
      order_(train_, config.batches, static_cast<std::uint64_t>(config.trainer.seed)),
      batches_per_epoch_(order_.epoch(0).size()) {
  if (!valid) return;
  BatchOrder order(*valid, config.batches, 0);
  valid_.emplace(Validation{.corpus = std::move(*valid), .order = std::move(order), .src = {}, .tgt = {}});
  ParallelReader reader({config.valid[0]}, {config.valid[1]});
  for (TextPair pair; std::ssize(valid_->src) < config.bleu_sentences && reader.next(pair);) {
    valid_->src.push_back(pair.src);
    valid_->tgt.push_back(pair.tgt);
  }
}

void TranslationTask::seek(DataPosition position) {
  loader_ = std::make_unique<Loader>(train_, order_, ids_, position);
}

MicroBatch TranslationTask::next() {
  const LoadedBatch loaded = loader_->next();
  MicroBatch batch = micro_batch(loaded.batch);
  batch.position = loaded.position;
  batch.after = loaded.after;
  return batch;
}

MicroBatch TranslationTask::largest() {
  const BatchOrder::Epoch epoch = order_.epoch(0);
  return micro_batch(make_batch(train_, epoch.batch(order_.largest(epoch)), ids_));
}

MicroBatch TranslationTask::micro_batch(const Batch& batch) const {
  std::vector<std::int64_t> lines;
  for (const std::int64_t example : batch.examples) lines.push_back(static_cast<std::int64_t>(train_.line(example)));
  return {.position = {},
          .after = {},
          .terms = {{.name = "loss", .weight = 1, .count = batch.num_labels()}},
          .tokens = batch.num_labels(),
          .examples = std::move(lines),
          .forward = [this, here = on_device(batch, device_)](Pass& pass) -> std::vector<LossSum> {
            const torch::Tensor hidden_MH = model_->forward(here, pass);
            const OutputHead head = model_->output_head();
            const ops::CrossEntropy result =
                ops::cross_entropy(hidden_MH, head.weight_VH, head.bias_V, here.labels_M, label_smoothing_);
            return {{.loss = result.loss, .nll = result.nll}};
          }};
}

std::vector<std::string> TranslationTask::metrics() const {
  if (!valid_) return {};
  return valid_->src.empty() ? std::vector<std::string>{"loss", "ppl"}
                             : std::vector<std::string>{"loss", "ppl", "bleu"};
}

std::vector<ValidationMetric> TranslationTask::validate(const std::filesystem::path& run, std::int64_t step) {
  const double loss = validation_loss();
  std::vector<ValidationMetric> metrics = {{.name = "loss", .value = loss}, {.name = "ppl", .value = std::exp(loss)}};
  if (valid_->src.empty()) return metrics;

  TranslatorConfig greedy;  // a worker a thread, as many as the training itself may use
  greedy.workers = threads_;
  const auto translations = Translator(*model_, tokenizers_, greedy).translate(valid_->src);
  const metrics::Bleu bleu;
  metrics::Tally tally(bleu);
  std::string text;
  for (std::size_t i = 0; i < translations.size(); ++i) {
    const std::string& line = translations[i].front().text;
    tally.add(line, {valid_->tgt[i]});
    text += line + "\n";
  }
  metrics.push_back({.name = "bleu", .value = tally.value()});
  make_directories(run / "hyps");
  write_file_atomic(run / "hyps" / ("step-" + std::to_string(step) + ".txt"), text);
  return metrics;
}

double TranslationTask::validation_loss() const {
  const torch::NoGradGuard no_grad;
  const BatchOrder::Epoch epoch = valid_->order.epoch(0);
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t b = 0; b < epoch.size(); ++b) {
    if (signals::stop_requested()) throw Interrupted("validation");
    const Batch batch = on_device(make_batch(valid_->corpus, epoch.batch(b), ids_), device_);
    Pass pass = Pass::inference();
    const torch::Tensor hidden_MH = model_->forward(batch, pass);
    const OutputHead head = model_->output_head();
    sum += ops::cross_entropy(hidden_MH, head.weight_VH, head.bias_V, batch.labels_M, 0).nll.item<double>();
    count += batch.num_labels();
  }
  return sum / static_cast<double>(count);
}

}  // namespace attend
