// The names of heads: PLACE.LAYER.HEAD, counted from 0, such as "encoder.0.3" and "cross.1.2".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/layers/pass.hpp"

namespace attend {

struct HeadPlace {
  AttentionPlace place = AttentionPlace::encoder;
  std::int64_t layer = 0;
  std::int64_t head = 0;

  auto operator<=>(const HeadPlace&) const = default;
};

std::string to_text(const HeadPlace& head);
// The inverse; nullopt if `name` is invalid.
std::optional<HeadPlace> parse_head(std::string_view name);

// Which of the `heads` of a layer are not `pruned`, ascending.
std::vector<std::int64_t> kept_heads(std::span<const HeadPlace> pruned, AttentionPlace place, std::int64_t layer,
                                     std::int64_t heads);

}  // namespace attend
