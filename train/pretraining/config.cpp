#include "train/pretraining/config.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// A phase that ends after its own share, in percent; none if `text` is not valid.
std::optional<Phase> read(std::string_view text, std::int64_t max_tokens) {
  const auto colon = text.find(':'), sign = text.find('%');
  if (colon == std::string_view::npos || sign == std::string_view::npos || sign < colon) return std::nullopt;
  const std::string_view sizes = text.substr(0, colon), masks = text.substr(sign + 1);
  const auto at = sizes.find('@');
  const auto length = parse_number<std::int64_t>(sizes.substr(0, at));
  const auto tokens = at == std::string_view::npos ? max_tokens : parse_number<std::int64_t>(sizes.substr(at + 1));
  const auto percent = parse_number<double>(text.substr(colon + 1, sign - colon - 1));
  if (!length || !tokens || !percent) return std::nullopt;
  std::optional<double> mask_rate;
  if (!masks.empty()) {
    mask_rate = masks.starts_with(':') ? parse_number<double>(masks.substr(1)) : std::nullopt;
    if (!mask_rate || !(*mask_rate >= 0 && *mask_rate <= 1)) return std::nullopt;
  }
  if (*length < 8 || *length > 65535 || !(*percent > 0 && *percent <= 100)) return std::nullopt;
  return Phase{.length = *length, .max_tokens = *tokens, .end = *percent, .mask_rate = mask_rate};
}

}  // namespace

std::vector<Phase> parse_phases(const std::vector<std::string>& texts, const std::string& origin,
                                std::int64_t max_tokens) {
  ensure(!texts.empty(), "there is a phase");
  std::vector<Phase> phases;
  double percent = 0;
  for (const std::string& text : texts) {
    std::optional<Phase> phase = read(text, max_tokens);
    if (!phase) {
      throw UserError(origin + ": \"" + text + "\" is not a valid phase",
                      "write LENGTH:SHARE%, such as 128:90%, 128@4096:90% or 128:90%:0.3");
    }
    if (phase->max_tokens < phase->length) {
      throw UserError(origin + ": \"" + text + "\": a batch of " + std::to_string(phase->max_tokens) +
                          " tokens is too small for a sequence",
                      "raise --max-tokens, or write LENGTH@MAX-TOKENS");
    }
    percent += phase->end;
    phase->end = percent / 100;
    phases.push_back(*phase);
  }
  if (std::abs(percent - 100) > 1e-6) {
    throw UserError(origin + ": the shares of all phases sum to " + four_digits(percent) + "%",
                    "make them sum to 100%");
  }
  phases.back().end = 1;
  return phases;
}

std::vector<Phase> short_first(double share, std::int64_t length, std::int64_t max_tokens) {
  std::vector<Phase> phases;
  for (const auto& [shorter, end] : {std::pair<std::int64_t, double>{16, 0.75 * share}, {32, share}}) {
    if (share > 0 && shorter < length) {
      phases.push_back({.length = shorter, .max_tokens = max_tokens, .end = end, .pairs = false});
    }
  }
  phases.push_back({.length = length, .max_tokens = max_tokens});
  return phases;
}

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
  if (!recurrent) trainer.refuse_several(model.stack.block.norm_kind, origins);
  if (is_causal()) {
    check_language_options(model);
    if (model.carries() && trainer.processes > 1) {
      throw UserError(origins(model.is_recurrent() ? "cell" : "memory") +
                          ": what the model remembers of a text is kept in one process, but there are " +
                          std::to_string(trainer.processes),
                      "use one process with a larger --accumulate, or a Transformer without --memory");
    }
  } else {
    resolve_stack(model.stack, objective == PretrainingKind::permuted ? StackUse::permuted : StackUse::masked);
  }
  trainer.check_best_metric(metric_names(), origins);
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
  const std::vector<Phase> all = lengths(origins("phase"), max_tokens.value_or(kNoLimit));
  if (origins.given("mask-rate") &&
      std::ranges::all_of(all, [](const Phase& phase) { return phase.mask_rate.has_value(); })) {
    throw UserError(origins("mask-rate") + ": every --phase sets its own mask rate", "leave it out");
  }
  const BlockOptions& block = model.stack.block;
  const bool counts_positions = !is_causal() || (!recurrent && have_tables(block.positions, block.self_attention));
  for (const Phase& phase : all) {
    if (phase.mask_rate && objective != PretrainingKind::masked) {
      throw UserError(origins("phase") + ": only --objective masked has a mask rate", "leave the mask rate out");
    }
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
