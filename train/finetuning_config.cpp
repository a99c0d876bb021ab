#include "train/finetuning_config.hpp"

#include <charconv>

#include "core/error.hpp"

namespace attend {

void FinetuningConfig::refuse_contradictions(const OptionOrigins& origins) const {
  if (train.size() > 1) {
    throw UserError(origins("train") + ": " + std::to_string(train.size()) + " files, expected one");
  }
  if (!tokenizer.empty() && !run.init_from.empty()) {
    throw UserError(origins("tokenizer") + ": the weights of --init-from know only their own tokenizer",
                    "leave one of them out");
  }
  if (examples == 0) throw UserError(origins("examples") + ": nothing to learn from", "give a share above 0");
}

void FinetuningCommand::validate(const OptionOrigins& origins) const {
  config.run.validate(origins);
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
  const auto number = [&](std::string_view part) {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 0) value = -1;
    return value;
  };
  if (dots != std::string::npos) {
    const std::int64_t first = number(std::string_view(text).substr(0, dots));
    const std::int64_t last = number(std::string_view(text).substr(dots + 2));
    if (first >= 0 && last >= first) return {first, last};
  }
  throw UserError(origin + ": \"" + text + "\" is no range of seeds", "write it as 1..3");
}

}  // namespace attend
