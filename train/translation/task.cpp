#include "train/translation/task.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <sstream>

#include "core/files.hpp"
#include "core/signals.hpp"
#include "data/text/parallel.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"
#include "train/translation/objective.hpp"

namespace attend {

TranslationTask::TrainingBatches::TrainingBatches(const TranslationTask& task)
    : task_(&task), batches_(task.train_, task.order_, task.ids_, task.sampled_ ? &*task.sampled_ : nullptr) {}

Batch TranslationTask::TrainingBatches::guided(Batch batch) const {
  for (const PieceLinks& links : task_->guides_) links.add_to(batch, task_->train_);
  return batch;
}

TranslationTask::TranslationTask(Seq2Seq model, const TokenizerPair& tokenizers, const TranslationConfig& config,
                                 EncodedCorpus train, std::optional<EncodedCorpus> valid,
                                 std::vector<PieceLinks> guides)
    : StreamTask(
          std::make_unique<TranslationObjective>(model, config.objective, config.model.attention == ChoiceKind::hard,
                                                 config.guided, config.relations, config.model.prune_heads.value_or(0)),
          identity_of(config.model, tokenizers), torch::Device(config.run.device)),
      model_(std::move(model)),
      tokenizers_(tokenizers),
      metrics_(config.metrics),
      metric_names_(config.metric_names()),
      threads_(*config.run.threads),
      ids_(batch_ids(tokenizers)),
      train_(std::move(train)),
      order_(train_, config.batches, static_cast<std::uint64_t>(config.trainer.seed)),
      guides_(std::move(guides)) {
  if (config.sampling.samples()) {
    sampled_.emplace(train_, tokenizers_, config.sampling, static_cast<std::uint64_t>(config.trainer.seed),
                     std::min(config.corpus.max_length, *config.batches.max_tokens - 1));
  }
  // With sampled pieces an estimate, since sampling the whole text takes long.
  const double growth = sampled_ ? sampled_->growth() : 1;
  batches_per_epoch_ = std::llround(static_cast<double>(order_.epoch(0).size()) * growth);
  if (!valid) return;
  BatchOrder order(*valid, config.batches, 0);
  valid_.emplace(Validation{.corpus = std::move(*valid), .order = std::move(order), .src = {}, .tgt = {}});
  ParallelReader reader(config.valid[0], config.valid[1], config.valid_factors);
  for (TextPair pair; std::ssize(valid_->src) < config.bleu_sentences && reader.next(pair);) {
    valid_->src.push_back(pair.src);
    valid_->tgt.push_back(pair.tgt);
  }
}

std::unique_ptr<BatchStream<Batch>> TranslationTask::stream_from(DataPosition position, Shard shard) {
  return std::make_unique<BatchStream<Batch>>(TrainingBatches(*this), position, shard);
}

std::vector<std::int64_t> TranslationTask::lines_of(const Batch& batch) const {
  std::vector<std::int64_t> lines;
  for (const std::int64_t example : batch.examples) lines.push_back(static_cast<std::int64_t>(train_.line(example)));
  return lines;
}

MicroBatch TranslationTask::largest() {
  TrainingBatches batches(*this);
  batches.begin_epoch(0);
  return micro_batch(batches.largest());
}

std::vector<ValidationMetric> TranslationTask::validate(const std::filesystem::path& run, std::int64_t step,
                                                        Ranks& ranks) {
  const double loss = validation_loss(ranks);
  std::vector<ValidationMetric> found = {{.name = "loss", .value = loss}, {.name = "ppl", .value = std::exp(loss)}};
  if (const std::vector<LayerGates> gates = gates_of(*model_); !gates.empty()) {
    double open = 0;
    for (const LayerGates& layer : gates) open += layer.gates->values_N().gt(0).sum().item<double>();
    found.push_back({.name = "open_gates", .value = open});
  }
  if (valid_->src.empty()) return found;

  TranslatorConfig greedy;  // one worker per thread of the training
  greedy.workers = threads_;
  const auto ranks_of = static_cast<std::size_t>(ranks.size());
  std::vector<std::string> own;  // this rank's share: every ranks_of-th sentence
  for (std::size_t i = ranks.rank(); i < valid_->src.size(); i += ranks_of) own.push_back(valid_->src[i]);
  std::string own_lines;
  ranks.together([&] {
    for (const auto& translation : Translator(*model_, tokenizers_, greedy).translate(own)) {
      own_lines += translation.front().text + "\n";
    }
  });
  std::vector<std::istringstream> lines;
  for (const std::string& text : ranks.gather(own_lines)) lines.emplace_back(text);
  std::vector<std::string> hypotheses(valid_->src.size());
  std::string text;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    std::getline(lines[i % ranks_of], hypotheses[i]);
    text += hypotheses[i] + "\n";
  }
  const std::vector<std::unique_ptr<metrics::Metric>> chosen = metrics::TranslationMetrics{.choice = metrics_}.make();
  for (std::size_t m = 0; m < chosen.size(); ++m) {
    const metrics::Tally tally =
        metrics::evaluate(*chosen[m], hypotheses, std::span(&valid_->tgt, 1), static_cast<int>(threads_));
    found.push_back({.name = metrics_.metrics[m], .value = tally.value()});
  }
  if (!ranks.first()) return found;
  make_directories(run / "hyps");
  write_file_atomic(run / "hyps" / ("step-" + std::to_string(step) + ".txt"), text);
  return found;
}

double TranslationTask::validation_loss(Ranks& ranks) const {
  const torch::NoGradGuard no_grad;
  const BatchOrder::Epoch epoch = valid_->order.epoch(0);
  std::array<double, 2> nll_and_count = {};
  ranks.together([&] {
    for (std::int64_t b = ranks.rank(); b < epoch.size(); b += ranks.size()) {
      signals::throw_if_stopped("validation");
      const Batch batch = on_device(make_batch(valid_->corpus, epoch.batch(b), ids_), device_);
      Pass pass = Pass::inference();
      nll_and_count[0] += objective_->losses(batch, pass)[0].reported.item<double>();
      nll_and_count[1] += static_cast<double>(batch.num_labels());
    }
  });
  ranks.sum(nll_and_count);
  return nll_and_count[0] / nll_and_count[1];
}

}  // namespace attend
