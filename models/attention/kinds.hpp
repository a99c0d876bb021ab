// The kinds of the parts of attention, with their names in options.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/options.hpp"

namespace attend {

enum class ScoreKind { dot, scaled_dot, general, additive, location, rbf, elu1, cosine };
template <>
struct EnumNames<ScoreKind> {
  static constexpr std::array names{
      std::pair{ScoreKind::dot, std::string_view("dot")},
      std::pair{ScoreKind::scaled_dot, std::string_view("scaled-dot")},
      std::pair{ScoreKind::general, std::string_view("general")},
      std::pair{ScoreKind::additive, std::string_view("additive")},
      std::pair{ScoreKind::location, std::string_view("location")},
      std::pair{ScoreKind::rbf, std::string_view("rbf")},
      std::pair{ScoreKind::elu1, std::string_view("elu1")},
      std::pair{ScoreKind::cosine, std::string_view("cosine")},
  };
};

enum class ScopeKind { global, local_m, local_p };
template <>
struct EnumNames<ScopeKind> {
  static constexpr std::array names{std::pair{ScopeKind::global, std::string_view("global")},
                                    std::pair{ScopeKind::local_m, std::string_view("local-m")},
                                    std::pair{ScopeKind::local_p, std::string_view("local-p")}};
};

// How a Transformer knows the order of a sentence.
enum class PositionKind { sinusoidal, alibi };
template <>
struct EnumNames<PositionKind> {
  static constexpr std::array names{std::pair{PositionKind::sinusoidal, std::string_view("sinusoidal")},
                                    std::pair{PositionKind::alibi, std::string_view("alibi")}};
};

enum class ChoiceKind { soft, hard };
template <>
struct EnumNames<ChoiceKind> {
  static constexpr std::array names{std::pair{ChoiceKind::soft, std::string_view("soft")},
                                    std::pair{ChoiceKind::hard, std::string_view("hard")}};
};

enum class CoverageKind { none, additive };
template <>
struct EnumNames<CoverageKind> {
  static constexpr std::array names{std::pair{CoverageKind::none, std::string_view("none")},
                                    std::pair{CoverageKind::additive, std::string_view("additive")}};
};

}  // namespace attend
