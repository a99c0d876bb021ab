#include "train/finetuning/config.hpp"

#include <spdlog/fmt/fmt.h>

#include "core/error.hpp"
#include "core/text.hpp"

namespace attend {

void FinetuningConfig::refuse_contradictions(const OptionOrigins& origins) const {
  if (train.size() > 1) {
    throw UserError(origins("train") + ": " + std::to_string(train.size()) + " files, expected one", "join them");
  }
  if (!tokenizer.empty() && !run.init_from.empty()) {
    throw UserError(origins("tokenizer") + ": --init-from already determines the tokenizer", "leave one of them out");
  }
  if (model.model == TextEncoderKind::bert) resolve_stack(model.encoder, StackUse::masked);
  if (model.model == TextEncoderKind::language || model.model == TextEncoderKind::hybrid) {
    check_language_options(model.language());
  }
  trainer.refuse_several(model.encoder.block.norm_kind, origins);
  const StackOptions& encoder = model.encoder;
  const std::int64_t layers = model.model == TextEncoderKind::lstm ? encoder.layers.value_or(1)
                              : encoder.share_layers               ? 1
                                                                   : layers_of(encoder);
  if (freeze > layers + 1) {
    throw UserError(fmt::format("{} {}: the encoder has {} above its embeddings", origins("freeze"), freeze,
                                counted(layers, "layer")),
                    fmt::format("give at most {}", layers + 1));
  }
  if (examples == 0) throw UserError(origins("examples") + ": no training examples", "set a share above 0");
}

void FinetuningCommand::validate(const OptionOrigins& origins) const {
  config.run.validate();
  if (seeds.empty()) return;
  seeds_of(seeds, origins("seeds"));
  if (origins.given("seed")) throw UserError(origins("seeds") + " and --seed are both given", "leave one of them out");
  if (config.run.dry_run) throw UserError(origins("seeds") + ": a dry run needs one seed", "use --seed");
  if (config.run.resume != "auto" && config.run.resume != "never") {
    throw UserError(origins("seeds") + ": --resume PATH names a checkpoint of one seed", "use --resume auto");
  }
}

std::pair<std::int64_t, std::int64_t> seeds_of(const std::string& text, const std::string& origin) {
  const auto dots = text.find("..");
  if (dots != std::string::npos) {
    const auto first = parse_number<std::int64_t>(std::string_view(text).substr(0, dots));
    const auto last = parse_number<std::int64_t>(std::string_view(text).substr(dots + 2));
    constexpr std::int64_t kMost = 1000, kLargest = 9'000'000'000'000'000;
    if (first && last && *first >= 0 && *last >= *first && *last <= kLargest && *last - *first < kMost) {
      return {*first, *last};
    }
  }
  throw UserError(origin + ": \"" + text + "\" is not a range of at most 1000 seeds", "write it as 1..3");
}

}  // namespace attend
