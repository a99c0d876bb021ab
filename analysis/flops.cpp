#include "analysis/flops.hpp"

#include <string_view>

#include "models/attention/recurrent_attention.hpp"

namespace attend {
namespace {

// The number of positions of a sentence pair at which a parameter is applied.
double applications(std::string_view name, double S, double T) {
  if (name.find("embedding") != std::string_view::npos) return 0;
  if (name.starts_with("bridge")) return 1;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has(".energy.")) return 0;  // counted with the pairs
  const bool of_source = name.starts_with("encoder.") || name.starts_with("attention.key") || has(".kv_proj.") ||
                         has(".multihead_attn.score.key.");
  return of_source ? S : T;
}

// Products of queries with keys and of weights with values, in a sentence pair.
double attention_flops(const ModelConfig& config, double S, double T) {
  const auto width = static_cast<double>(config.width.value_or(0));
  const ScoreRecipe score = recipe_of(score_of(config));
  switch (config.model) {
    case ModelKind::fixed:
      return 0;
    case ModelKind::transformer: {
      const auto encoder = static_cast<double>(config.encoder_layers.value_or(0));
      const auto decoder = static_cast<double>(config.decoder_layers.value_or(0));
      const double pairs = encoder * S * S + decoder * (T * (T + 1) / 2 + S * T);
      return 2 * pairs * ((score.compares_pairs ? width : 0) + width);
    }
    case ModelKind::luong:
    case ModelKind::bahdanau: {
      const bool wide = config.encoder == Direction::both && !score.needs_equal_widths;
      return 2 * S * T * ((score.compares_pairs ? width : 0) + (wide ? 2 * width : width));
    }
  }
  return 0;
}

}  // namespace

double flops_per_target_piece(const Run& run, double S, double T) {
  double flops = attention_flops(run.config, S, T);
  for (const auto& parameter : run.model->named_parameters()) {
    if (parameter.value().dim() < 2) continue;
    flops += 2 * static_cast<double>(parameter.value().numel()) * applications(parameter.key(), S, T);
  }
  const auto vocabulary = static_cast<double>(run.tokenizers.tgt.size());
  flops += 2 * vocabulary * static_cast<double>(run.config.width.value_or(0)) * T;  // the output layer
  return flops / T;
}

}  // namespace attend
