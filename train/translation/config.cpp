#include "train/translation/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "models/attention/kinds.hpp"
#include "models/translation/factory.hpp"

namespace attend {

void TranslationConfig::refuse_contradictions(const OptionOrigins& origins) const {
  // Options are checked against the sizes for a small text. Those for a large text fit the same options: both widths
  // are powers of two, and both dropouts above 0.
  TranslationConfig sized = *this;
  resolve_sizes(sized, 0);
  check_model(sized.model, origins);
  check_sizes(origins);
  trainer.refuse_several(model.block.norm_kind, origins);
  const ModelConfig& drops = sized.model;
  const bool draws = model.attention == ChoiceKind::hard || objective.scheduled_sampling > 0;
  if (objective.r_drop > 0 && !draws &&
      std::max({*drops.dropout, drops.word_dropout, drops.block.attention_dropout}) == 0) {
    throw UserError(origins("r-drop") + ": without dropout, both predictions of a word are the same",
                    "give --dropout above 0, or leave --r-drop out");
  }
  if (model.longest_source && *model.longest_source <= corpus.max_length) {
    throw UserError(fmt::format("{}: {}, but training sentences have up to {} pieces and an end token",
                                origins("longest-source"), *model.longest_source, corpus.max_length),
                    fmt::format("raise it to {}, or lower --max-length", corpus.max_length + 1));
  }
  check_two_files("train", train, origins);
  if (tokenizer.empty() && run.init_from.empty()) check_sampling(sampling, vocabulary.type, "both languages");
  if (guided.guides() && model.attention == ChoiceKind::hard) {
    throw UserError(origins("guided-alignment") + " needs the weights of soft attention, but attention is hard",
                    "drop one of them");
  }
  const SelfAttentionRecipe heads = recipe_of(model.block.self_attention);
  if (relations.guides() && model.self_attention_in != StackChoice::decoder &&
      (!heads.reads_keys || heads.most_fixed > 0)) {
    throw UserError(fmt::format("{} needs heads that compare words, but self-attention is {}",
                                origins("guided-relations"), name_of(model.block.self_attention)),
                    "drop one of them");
  }
  if (!valid.empty()) check_two_files("valid", valid, origins);
  metrics.validate(origins);
  const std::string place = origins("best-metric") + ": " + trainer.best_metric;
  if (metrics::find_text_metric(trainer.best_metric) != nullptr) {
    if (bleu_sentences == 0) throw UserError(place + " requires --bleu-sentences above 0", "raise --bleu-sentences");
    if (std::ranges::find(metrics.metrics, trainer.best_metric) == metrics.metrics.end()) {
      throw UserError(place + " is not among --metrics", "add it to --metrics");
    }
  }
  trainer.check_best_metric(metric_names(), origins);
}

std::vector<std::string> TranslationConfig::metric_names() const {
  std::vector<std::string> names = {"loss", "ppl"};
  if (bleu_sentences > 0) names.insert(names.end(), metrics.metrics.begin(), metrics.metrics.end());
  return names;
}

void TranslationConfig::check_sizes(const OptionPlace& place) const {
  const std::optional<std::int64_t> layers = model.model == ModelKind::transformer ? model.decoder_layers : 1;
  const auto check = [&](const char* option, std::int64_t number, const char* last, std::int64_t count) {
    if (number < count) return;
    throw UserError(fmt::format("{}: {}, but the last {} is {}", place(option), number, last, count - 1),
                    count == 1 ? "leave it out" : fmt::format("choose one from 0 to {}", count - 1));
  };
  if (guided.guides() && layers) {
    check("guided-layer", guided.layer.value_or(0), "layer that attends to the source", *layers);
  }
  if (!relations.guides()) return;
  if (model.encoder_layers) {
    check("guided-relations-layer", relations.layer.value_or(0), "layer of the encoder", *model.encoder_layers);
  }
  if (model.width) {
    const BlockOptions block = sized(model.block, *model.width);
    const std::int64_t layer = relations.layer.value_or(-1);  // -1: not chosen yet; no heads are pruned there
    check("guided-relations-head", relations.head, "head", std::ssize(block.kept(AttentionPlace::encoder, layer)));
  }
}

void resolve_sizes(TranslationConfig& config, std::uint64_t target_tokens) {
  // With a few hundred thousand sentences, the base model of arXiv 1706.03762 overfits; a small one is also faster.
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

}  // namespace attend
