#include "models/attention/parts.hpp"

#include "models/attention/additive.hpp"
#include "models/attention/alibi.hpp"
#include "models/attention/cosine.hpp"
#include "models/attention/dot.hpp"
#include "models/attention/elu1.hpp"
#include "models/attention/general.hpp"
#include "models/attention/hard.hpp"
#include "models/attention/local_m.hpp"
#include "models/attention/local_p.hpp"
#include "models/attention/location.hpp"
#include "models/attention/rbf.hpp"
#include "models/attention/relative.hpp"
#include "models/attention/scaled_dot.hpp"
#include "models/attention/t5.hpp"

namespace attend {
namespace {

template <class S>
std::shared_ptr<Score> made(const ScoreWidths& widths) {
  if constexpr (std::is_constructible_v<S, const ScoreWidths&>) {
    return std::make_shared<S>(widths);
  } else {
    return std::make_shared<S>();
  }
}

}  // namespace

ScoreRecipe recipe_of(ScoreKind kind) {
  switch (kind) {
    case ScoreKind::dot:
      return {.needs_equal_widths = true, .takes_coverage = true, .compares_pairs = true, .make = made<DotScore>};
    case ScoreKind::scaled_dot:
      return {.needs_equal_widths = true, .takes_coverage = true, .compares_pairs = true, .make = made<ScaledDotScore>};
    case ScoreKind::general:
      return {.takes_coverage = true, .compares_pairs = true, .make = made<GeneralScore>};
    case ScoreKind::additive:
      return {.takes_coverage = true, .compares_pairs = true, .make = made<AdditiveScore>};
    case ScoreKind::location:
      return {.make = made<LocationScore>};
    case ScoreKind::rbf:
      return {.compares_pairs = true, .make = made<RbfScore>};
    case ScoreKind::elu1:
      return {.compares_pairs = true, .make = made<Elu1Score>};
    case ScoreKind::cosine:
      return {.needs_equal_widths = true, .compares_pairs = true, .make = made<CosineScore>};
  }
  return {};
}

PositionRecipe recipe_of(PositionKind kind) {
  const auto unchanged = [](std::shared_ptr<Scope> scope, const HeadsOfScope& /*heads*/) { return scope; };
  switch (kind) {
    case PositionKind::sinusoidal:
      return {.adds_sinusoids = true, .around = unchanged};
    case PositionKind::learned:
      return {.adds_table = true, .around = unchanged};
    case PositionKind::none:
      return {.around = unchanged};
    case PositionKind::rotary:
      return {.turns = true, .around = unchanged};
    case PositionKind::relative:
      return {.around = [](std::shared_ptr<Scope> scope, const HeadsOfScope& heads) {
        return std::make_shared<RelativeScope>(std::move(scope), heads.width, heads.causal);
      }};
    case PositionKind::t5:
      return {.around = [](std::shared_ptr<Scope> scope, const HeadsOfScope& heads) {
        return std::make_shared<T5Scope>(std::move(scope), heads.heads, heads.heads * heads.width, heads.causal);
      }};
    case PositionKind::alibi:
      return {.around = [](std::shared_ptr<Scope> scope, const HeadsOfScope& heads) {
        return std::make_shared<AlibiScope>(std::move(scope), heads.heads);
      }};
  }
  return {};
}

SelfAttentionRecipe recipe_of(SelfAttentionKind kind) {
  const auto scored = [](const ScoreWidths& widths, ScoreKind score) { return recipe_of(score).make(widths); };
  switch (kind) {
    case SelfAttentionKind::attention:
    case SelfAttentionKind::fourier:  // no attention: models/transformer/fourier.hpp
    case SelfAttentionKind::uniform:
    case SelfAttentionKind::patterns:
      return {.make = scored};
    case SelfAttentionKind::dense:
    case SelfAttentionKind::random:
    case SelfAttentionKind::fixed_random:
    case SelfAttentionKind::dense_attention:
    case SelfAttentionKind::random_attention:
      return {.has_table = true, .make = scored};
  }
  return {};
}

std::shared_ptr<Scope> make_scope(ScopeKind kind, std::int64_t query_width, std::int64_t half_width) {
  switch (kind) {
    case ScopeKind::global:
      return std::make_shared<GlobalScope>();
    case ScopeKind::local_m:
      return std::make_shared<LocalMonotonicScope>(half_width);
    case ScopeKind::local_p:
      return std::make_shared<LocalPredictiveScope>(query_width, half_width);
  }
  return nullptr;
}

std::shared_ptr<Choice> make_choice(ChoiceKind kind, double soft_share) {
  switch (kind) {
    case ChoiceKind::soft:
      return std::make_shared<SoftChoice>();
    case ChoiceKind::hard:
      return std::make_shared<HardChoice>(soft_share);
  }
  return nullptr;
}

}  // namespace attend
