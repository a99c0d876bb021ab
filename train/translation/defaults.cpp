#include "train/translation/defaults.hpp"

#include <algorithm>
#include <cmath>

namespace attend {
void resolve_sizes(TranslationConfig& config, std::uint64_t target_tokens) {
  // With a few hundred thousand sentences, the base model of arXiv 1706.03762 overfits, and a small one is fast.
  const bool small = target_tokens < 5'000'000;
  const bool transformer = config.model.model == ModelKind::transformer;
  const std::int64_t layers = transformer ? (small ? 3 : 6) : (small ? 1 : 2);
  ModelConfig& model = config.model;
  if (!model.encoder_layers) model.encoder_layers = layers;
  if (!model.decoder_layers) model.decoder_layers = layers;
  if (!model.width) model.width = small ? 256 : 512;
  if (!model.dropout) model.dropout = small ? 0.3 : 0.1;
  const bool attends = model.model == ModelKind::luong || model.model == ModelKind::bahdanau;
  if (!transformer) model.cell = cell_of(model);
  if (attends) model.score = score_of(model);
  if (model.score == ScoreKind::location && !model.longest_source) model.longest_source = config.corpus.max_length + 1;
  if (has_tables(model) && !model.max_positions) model.max_positions = config.corpus.max_length + 1;
  if (config.guided.guides() && !config.guided.layer) {
    config.guided.layer = transformer ? *model.decoder_layers - 1 : 0;
  }
  if (config.relations.guides() && !config.relations.layer) config.relations.layer = *model.encoder_layers / 2;
  // With little data, large batches would give few updates per epoch.
  if (!config.batches.max_tokens) config.batches.max_tokens = target_tokens < 1'000'000 ? 2048 : 4096;
}

void resolve_training(TranslationConfig& config, std::int64_t batches_per_epoch) {
  const std::int64_t epoch = config.trainer.updates_of(batches_per_epoch);
  const bool transformer = config.model.model == ModelKind::transformer;
  if (!config.schedule.learning_rate) {
    // Wider models need smaller steps; a Transformer of width 512 gets the usual 7e-4 for batches of 4,096 tokens.
    const double rate = (transformer ? 1e-3 : 2e-3) * std::sqrt(256.0 / static_cast<double>(*config.model.width));
    config.schedule.learning_rate = std::min(rate, 3e-3);
  }
  if (!config.schedule.warmup_steps) {
    config.schedule.warmup_steps =
        transformer ? std::clamp<std::int64_t>(4 * epoch, 200, 4000) : std::clamp<std::int64_t>(epoch, 100, 1000);
  }
  if (!config.trainer.max_steps) {
    // Thirty epochs of a small corpus, fewer of a large one.
    config.trainer.max_steps = config.trainer.max_epochs
                                   ? config.trainer.updates_of(*config.trainer.max_epochs * batches_per_epoch)
                                   : std::clamp<std::int64_t>(30 * epoch, 1500, 100'000);
  }
  if (!config.trainer.valid_every) config.trainer.valid_every = std::clamp<std::int64_t>(epoch, 100, 5000);
}

}  // namespace attend
