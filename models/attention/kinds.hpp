// The kinds of recurrent attention, as options name them.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/options.hpp"

namespace attend {

enum class ScoreKind { dot, scaled_dot, general };
template <>
struct EnumNames<ScoreKind> {
  static constexpr std::array names{std::pair{ScoreKind::dot, std::string_view("dot")},
                                    std::pair{ScoreKind::scaled_dot, std::string_view("scaled-dot")},
                                    std::pair{ScoreKind::general, std::string_view("general")}};
};

}  // namespace attend
