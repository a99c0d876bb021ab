#include "train/pretraining/config.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"

namespace attend {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::vector<Phase> PretrainingConfig::lengths(const std::string& origin, std::int64_t tokens) const {
  return phases.empty() ? attend::short_first(short_first.value_or(0), instances.length, tokens)
                        : parse_phases(phases, origin, tokens);
}

std::int64_t PretrainingConfig::longest() const {
  return std::ranges::max(lengths("--phase", kNoLimit), {}, &Phase::length).length;
}

void PretrainingConfig::refuse_contradictions(const OptionOrigins& origins) const {
  if (tokenizer.size() > 1) {
    throw UserError(origins("tokenizer") + ": " + std::to_string(tokenizer.size()) + " files, expected one",
                    "name one");
  }
  bert_config(model, /*vocabulary=*/1);
  trainer.refuse_several(model.block.norm_kind, origins);
  if (valid.empty()) trainer.refuse_validation(origins);
  if (!phases.empty() && trainer.max_epochs) {
    throw UserError(origins("max-epochs") + ": --phase needs a known number of updates",
                    "use --max-steps or --max-time");
  }
  if (short_first.value_or(0) > 0 && (trainer.max_epochs || !phases.empty())) {
    throw UserError(origins("short-first") + ": cannot be combined with --phase or --max-epochs",
                    "remove it, or use --max-steps or --max-time, and --length");
  }
  if (!phases.empty() && origins.given("length")) {
    throw UserError(origins("length") + ": every --phase sets its own length", "leave it out");
  }
  for (const Phase& phase : lengths(origins("phase"), max_tokens.value_or(kNoLimit))) {
    if (phase.length <= model.max_positions) continue;
    throw UserError(origins(phases.empty() ? "length" : "phase") + ": " + std::to_string(phase.length) +
                        " tokens, but the model has " + std::to_string(model.max_positions) + " positions",
                    "raise --max-positions or use shorter sequences");
  }
  if (masking.masked + masking.replaced > 1) {
    throw UserError(origins("masked") + " + replaced exceed 1", "lower one of them");
  }
}

}  // namespace attend
