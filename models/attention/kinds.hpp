// The kinds of the parts of attention, with their names in options.
#pragma once

#include "core/options.hpp"

namespace attend {

enum class ScoreKind { dot, scaled_dot, general, additive, location, rbf, elu1, cosine };
template <>
inline constexpr auto kEnumNames<ScoreKind> = std::to_array<EnumName<ScoreKind>>({
    {ScoreKind::dot, "dot"},
    {ScoreKind::scaled_dot, "scaled-dot"},
    {ScoreKind::general, "general"},
    {ScoreKind::additive, "additive"},
    {ScoreKind::location, "location"},
    {ScoreKind::rbf, "rbf"},
    {ScoreKind::elu1, "elu1"},
    {ScoreKind::cosine, "cosine"},
});

enum class ScopeKind { global, local_m, local_p };
template <>
inline constexpr auto kEnumNames<ScopeKind> = std::to_array<EnumName<ScopeKind>>({{ScopeKind::global, "global"},
                                                                                  {ScopeKind::local_m, "local-m"},
                                                                                  {ScopeKind::local_p, "local-p"}});

// How a Transformer knows the order of a sentence.
enum class PositionKind { sinusoidal, alibi };
template <>
inline constexpr auto kEnumNames<PositionKind> =
    std::to_array<EnumName<PositionKind>>({{PositionKind::sinusoidal, "sinusoidal"}, {PositionKind::alibi, "alibi"}});

enum class ChoiceKind { soft, hard };
template <>
inline constexpr auto kEnumNames<ChoiceKind> = std::to_array<EnumName<ChoiceKind>>({{ChoiceKind::soft, "soft"},
                                                                                    {ChoiceKind::hard, "hard"}});

enum class CoverageKind { none, additive };
template <>
inline constexpr auto kEnumNames<CoverageKind> =
    std::to_array<EnumName<CoverageKind>>({{CoverageKind::none, "none"}, {CoverageKind::additive, "additive"}});

}  // namespace attend
