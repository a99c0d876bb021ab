#include "train/pretraining/phases.hpp"

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/number.hpp"

namespace attend {
namespace {

struct Written {
  std::int64_t length, max_tokens;
  double percent;
};

std::optional<Written> read(std::string_view text, std::int64_t max_tokens) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || !text.ends_with('%')) return std::nullopt;
  const std::string_view sizes = text.substr(0, colon);
  const auto at = sizes.find('@');
  const auto length = parse_number<std::int64_t>(sizes.substr(0, at));
  const auto tokens = at == std::string_view::npos ? max_tokens : parse_number<std::int64_t>(sizes.substr(at + 1));
  const auto percent = parse_number<double>(text.substr(colon + 1, text.size() - colon - 2));
  if (!length || !tokens || !percent) return std::nullopt;
  if (*length < 8 || *length > 65535 || !(*percent > 0 && *percent <= 100)) return std::nullopt;
  return Written{*length, *tokens, *percent};
}

}  // namespace

std::vector<Phase> parse_phases(const std::vector<std::string>& texts, const std::string& origin,
                                std::int64_t max_tokens) {
  ensure(!texts.empty(), "there is a phase");
  std::vector<Phase> phases;
  double percent = 0;
  for (const std::string& text : texts) {
    const std::optional<Written> written = read(text, max_tokens);
    if (!written) {
      throw UserError(origin + ": \"" + text + "\" is not a valid phase",
                      "write LENGTH:SHARE%, such as 128:90%, or 128@4096:90%");
    }
    if (written->max_tokens < written->length) {
      throw UserError(origin + ": \"" + text + "\": a batch of " + std::to_string(written->max_tokens) +
                          " tokens is too small for a sequence",
                      "raise --max-tokens, or write LENGTH@MAX-TOKENS");
    }
    percent += written->percent;
    phases.push_back({.length = written->length, .max_tokens = written->max_tokens, .end = percent / 100});
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

}  // namespace attend
