#include "train/pretraining_config.hpp"

#include <limits>

#include "core/error.hpp"

namespace attend {

std::vector<Phase> PretrainingConfig::lengths(const std::string& origin, std::int64_t max_tokens) const {
  return phases.empty() ? attend::short_first(short_first.value_or(0), instances.length, max_tokens)
                        : parse_phases(phases, origin, max_tokens);
}

void PretrainingConfig::validate(const OptionOrigins& origins) const {
  run.validate(origins);
  if (tokenizer.size() > 1) {
    throw UserError(origins("tokenizer") + ": " + std::to_string(tokenizer.size()) + " files, expected one");
  }
  if (!phases.empty() && trainer.max_epochs) {
    throw UserError(origins("max-epochs") + ": phases are shares of updates", "use --max-steps or --max-time");
  }
  if (short_first.value_or(0) > 0 && (trainer.max_epochs || !phases.empty())) {
    throw UserError(origins("short-first") + ": a share of the updates, before which no --phase and no --max-epochs go",
                    "leave it out, or use --max-steps or --max-time and --length");
  }
  const std::int64_t max_tokens = batches.max_tokens.value_or(std::numeric_limits<std::int64_t>::max());
  for (const Phase& phase : lengths(origins("phase"), max_tokens)) {
    if (phase.length <= model.positions) continue;
    throw UserError(origins(phases.empty() ? "length" : "phase") + ": " + std::to_string(phase.length) +
                        " tokens, but the model has " + std::to_string(model.positions) + " positions",
                    "raise --positions or read shorter sequences");
  }
  if (masking.masked + masking.replaced > 1) {
    throw UserError(origins("masked") + " and replaced are more than all together", "their sum is at most 1");
  }
  if (trainer.best_metric != "loss" && trainer.best_metric != "accuracy") {
    throw UserError(origins("best-metric") + ": pretraining knows loss and accuracy", "use one of them");
  }
  if (trainer.patience && valid.empty()) {
    throw UserError(origins("patience") + ": there is nothing to validate on", "give --valid FILE");
  }
}

}  // namespace attend
