#include "train/translation/task.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/signals.hpp"
#include "data/text/parallel.hpp"
#include "eval/metrics/bleu.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"
#include "train/translation/objective.hpp"

namespace attend {
namespace {

BatchIds batch_ids(const TokenizerPair& tokenizers) {
  return {.src_eos = tokenizers.src.special().eos,
          .tgt_bos = tokenizers.tgt.special().bos,
          .tgt_eos = tokenizers.tgt.special().eos};
}

}  // namespace

TranslationTask::TranslationTask(Seq2Seq model, const TokenizerPair& tokenizers, const TranslationConfig& config,
                                 EncodedCorpus train, std::optional<EncodedCorpus> valid, CoveredShares covered)
    : StreamTask(
          std::make_unique<TranslationObjective>(model, config.objective, config.model.attention == ChoiceKind::hard),
          torch::Device(config.run.device)),
      model_(std::move(model)),
      tokenizers_(tokenizers),
      identity_(identity_of(config.model, tokenizers)),
      covered_(std::move(covered)),
      threads_(*config.run.threads),
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

std::unique_ptr<BatchStream<Batch>> TranslationTask::stream_from(DataPosition position) {
  return std::make_unique<BatchStream<Batch>>(ParallelBatches(train_, order_, ids_), position);
}

std::vector<std::int64_t> TranslationTask::lines_of(const Batch& batch) const {
  std::vector<std::int64_t> lines;
  for (const std::int64_t example : batch.examples) lines.push_back(static_cast<std::int64_t>(train_.line(example)));
  return lines;
}

MicroBatch TranslationTask::largest() {
  const BatchOrder::Epoch epoch = order_.epoch(0);
  return micro_batch(make_batch(train_, epoch.batch(order_.largest(epoch)), ids_));
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
    sum += objective_->losses(batch, pass)[0].reported.item<double>();
    count += batch.num_labels();
  }
  return sum / static_cast<double>(count);
}

}  // namespace attend
