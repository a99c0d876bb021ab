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

// One of the heads of a model.
struct HeadPlace {
  AttentionPlace place = AttentionPlace::encoder;
  std::int64_t layer = 0;
  std::int64_t head = 0;

  auto operator<=>(const HeadPlace&) const = default;
};

std::string to_text(const HeadPlace& head);
// nullopt if it is not such a name.
std::optional<HeadPlace> parse_head(std::string_view name);

// The numbers of the heads of a layer, of `heads`, that are not `pruned`, ascending.
std::vector<std::int64_t> kept_heads(std::span<const HeadPlace> pruned, AttentionPlace place, std::int64_t layer,
                                     std::int64_t heads);

}  // namespace attend
