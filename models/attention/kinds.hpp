// The kinds of the parts of attention and of a block, and the names of heads.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "models/layers/pass.hpp"

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

// How a Transformer encodes positions.
enum class PositionKind { sinusoidal, learned, none, relative, t5, rotary, alibi, transformer_xl };
template <>
inline constexpr auto kEnumNames<PositionKind> = std::to_array<EnumName<PositionKind>>({
    {PositionKind::sinusoidal, "sinusoidal"},
    {PositionKind::learned, "learned"},
    {PositionKind::none, "none"},
    {PositionKind::relative, "relative"},
    {PositionKind::t5, "t5"},
    {PositionKind::rotary, "rotary"},
    {PositionKind::alibi, "alibi"},
    {PositionKind::transformer_xl, "transformer-xl"},
});

// Self-attention by a score of queries and keys, or its replacement.
enum class SelfAttentionKind {
  attention,
  uniform,
  dense,
  random,
  fixed_random,
  dense_attention,
  random_attention,
  patterns,
  fourier
};
template <>
inline constexpr auto kEnumNames<SelfAttentionKind> = std::to_array<EnumName<SelfAttentionKind>>({
    {SelfAttentionKind::attention, "attention"},
    {SelfAttentionKind::uniform, "uniform"},
    {SelfAttentionKind::dense, "dense"},
    {SelfAttentionKind::random, "random"},
    {SelfAttentionKind::fixed_random, "fixed-random"},
    {SelfAttentionKind::dense_attention, "dense-attention"},
    {SelfAttentionKind::random_attention, "random-attention"},
    {SelfAttentionKind::patterns, "patterns"},
    {SelfAttentionKind::fourier, "fourier"},
});

// Which linear maps self-attention has.
enum class ProjectionKind { all, shared_qk, values_only, none };
template <>
inline constexpr auto kEnumNames<ProjectionKind> = std::to_array<EnumName<ProjectionKind>>({
    {ProjectionKind::all, "all"},
    {ProjectionKind::shared_qk, "shared-qk"},
    {ProjectionKind::values_only, "values-only"},
    {ProjectionKind::none, "none"},
});

enum class ChoiceKind { soft, hard };
template <>
inline constexpr auto kEnumNames<ChoiceKind> = std::to_array<EnumName<ChoiceKind>>({{ChoiceKind::soft, "soft"},
                                                                                    {ChoiceKind::hard, "hard"}});

enum class CoverageKind { none, additive };
template <>
inline constexpr auto kEnumNames<CoverageKind> =
    std::to_array<EnumName<CoverageKind>>({{CoverageKind::none, "none"}, {CoverageKind::additive, "additive"}});

// The activation of a feed-forward network (models/transformer/sublayers.hpp); the last two are gated.
enum class FeedForwardKind { relu, gelu, gelu_tanh, swish, geglu, swiglu };
template <>
inline constexpr auto kEnumNames<FeedForwardKind> = std::to_array<EnumName<FeedForwardKind>>({
    {FeedForwardKind::relu, "relu"},
    {FeedForwardKind::gelu, "gelu"},
    {FeedForwardKind::gelu_tanh, "gelu-tanh"},
    {FeedForwardKind::swish, "swish"},
    {FeedForwardKind::geglu, "geglu"},
    {FeedForwardKind::swiglu, "swiglu"},
});
constexpr bool is_gated(FeedForwardKind kind) {
  return kind == FeedForwardKind::geglu || kind == FeedForwardKind::swiglu;
}

// The names of heads: PLACE.LAYER.HEAD, counted from 0, such as "encoder.0.3" and "cross.1.2".

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
