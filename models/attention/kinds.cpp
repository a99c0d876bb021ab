#include "models/attention/kinds.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace attend {
namespace {

std::optional<std::int64_t> number_of_head(std::string_view text) {
  const auto number = parse_number<std::int64_t>(text);
  return number && *number >= 0 && std::to_string(*number) == text ? number : std::nullopt;
}

}  // namespace

std::string to_text(const HeadPlace& head) {
  return std::string(name_of(head.place)) + "." + std::to_string(head.layer) + "." + std::to_string(head.head);
}

std::optional<HeadPlace> parse_head(std::string_view name) {
  const std::size_t first = name.find('.'), last = name.rfind('.');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  const auto layer = number_of_head(name.substr(first + 1, last - first - 1));
  const auto head = number_of_head(name.substr(last + 1));
  for (const auto& [place, known] : kEnumNames<AttentionPlace>) {
    if (known == name.substr(0, first) && layer && head) return HeadPlace{place, *layer, *head};
  }
  return std::nullopt;
}

std::vector<std::int64_t> kept_heads(std::span<const HeadPlace> pruned, AttentionPlace place, std::int64_t layer,
                                     std::int64_t heads) {
  std::vector<std::int64_t> kept;
  for (std::int64_t head = 0; head < heads; ++head) {
    if (std::ranges::find(pruned, HeadPlace{place, layer, head}) == pruned.end()) kept.push_back(head);
  }
  return kept;
}

}  // namespace attend
