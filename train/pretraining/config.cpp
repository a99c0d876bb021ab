#include "train/pretraining/config.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>

#include "core/error.hpp"

namespace attend {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// Throws UserError if several processes train a model that carries state from one segment to the next.
void refuse_carrying(const PretrainingConfig& config, const OptionOrigins& origins) {
  if (!config.model.carries() || config.trainer.processes == 1) return;
  throw UserError(origins(config.model.is_recurrent() ? "cell" : "memory") +
                      ": what the model remembers of a text is kept in one process, but there are " +
                      std::to_string(config.trainer.processes),
                  "use one process with a larger --accumulate, or a Transformer without --memory");
}

}  // namespace

std::vector<Phase> PretrainingConfig::lengths(const std::string& origin, std::int64_t tokens) const {
  return phases.empty() ? attend::short_first(short_first.value_or(0), instances.length, tokens)
                        : parse_phases(phases, origin, tokens);
}

std::int64_t PretrainingConfig::longest() const {
  return std::ranges::max(lengths("--phase", kNoLimit), {}, &Phase::length).length;
}

void PretrainingConfig::set_defaults(const OptionOrigins& origins) {
  if (origins.given("norm")) return;
  model.stack.block.norm = is_causal() && !model.is_recurrent() ? NormPlace::pre : NormPlace::post;
}

void PretrainingConfig::refuse_contradictions(const OptionOrigins& origins) const {
  if (tokenizer.size() > 1) {
    throw UserError(origins("tokenizer") + ": " + std::to_string(tokenizer.size()) + " files, expected one",
                    "name one");
  }
  const bool recurrent = is_causal() && model.is_recurrent();
  if (recurrent) {
    refuse_unread(model, default_texts<PretrainingConfig>(), origins);
  } else {
    trainer.refuse_several(model.stack.block.norm_kind, origins);
  }
  if (is_causal()) {
    check_language_options(model);
    refuse_carrying(*this, origins);
  } else {
    const auto query = objective == PretrainingKind::permuted ? std::optional<std::int64_t>(0) : std::nullopt;
    bert_config(model.stack, /*vocabulary=*/1, AttentionPlace::encoder, query);
  }
  valid.empty() ? trainer.refuse_validation(origins) : trainer.check_best_metric(metric_names(), origins);
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
  const BlockOptions& block = model.stack.block;
  const bool counts_positions = !is_causal() || (!recurrent && have_tables(block.positions, block.self_attention));
  for (const Phase& phase : lengths(origins("phase"), max_tokens.value_or(kNoLimit))) {
    if (!counts_positions || phase.length <= model.stack.max_positions) continue;
    throw UserError(origins(phases.empty() ? "length" : "phase") + ": " + std::to_string(phase.length) +
                        " tokens, but the model has " + std::to_string(model.stack.max_positions) + " positions",
                    "raise --max-positions or use shorter sequences");
  }
  if (masking.masked + masking.replaced > 1) {
    throw UserError(fmt::format("{}: {} and the {} of --replaced exceed 1 in sum", origins("masked"), masking.masked,
                                masking.replaced),
                    "lower one of them");
  }
}

}  // namespace attend
