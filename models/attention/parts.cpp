#include "models/attention/parts.hpp"

#include "models/attention/relative_positions.hpp"
#include "models/attention/scores.hpp"
#include "models/attention/synthesizers.hpp"

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
    case ScoreKind::general: return {.takes_coverage = true, .compares_pairs = true, .make = made<GeneralScore>};
    case ScoreKind::additive: return {.takes_coverage = true, .compares_pairs = true, .make = made<AdditiveScore>};
    case ScoreKind::location: return {.make = made<LocationScore>};
    case ScoreKind::rbf: return {.compares_pairs = true, .make = made<RbfScore>};
    case ScoreKind::elu1: return {.compares_pairs = true, .make = made<Elu1Score>};
    case ScoreKind::cosine: return {.needs_equal_widths = true, .compares_pairs = true, .make = made<CosineScore>};
  }
  return {};
}

PositionRecipe recipe_of(PositionKind kind) {
  const auto unchanged = [](std::shared_ptr<Scope> scope, const AttentionShape& /*shape*/) { return scope; };
  switch (kind) {
    case PositionKind::sinusoidal: return {.adds_sinusoids = true, .around = unchanged};
    case PositionKind::learned: return {.adds_table = true, .around = unchanged};
    case PositionKind::none: return {.around = unchanged};
    case PositionKind::rotary: return {.turns = true, .around = unchanged};
    case PositionKind::relative:
      return {.around = [](std::shared_ptr<Scope> scope, const AttentionShape& shape) {
        return std::make_shared<RelativeScope>(std::move(scope), shape.head_width(), shape.is_never_ahead());
      }};
    case PositionKind::t5:
      return {.around = [](std::shared_ptr<Scope> scope, const AttentionShape& shape) {
        return std::make_shared<T5Scope>(std::move(scope), shape.count(), shape.width, shape.is_never_ahead());
      }};
    case PositionKind::alibi:
      return {.around = [](std::shared_ptr<Scope> scope, const AttentionShape& shape) {
        return std::make_shared<AlibiScope>(std::move(scope), shape.heads, shape.kept);
      }};
    case PositionKind::transformer_xl:
      return {.around = [](std::shared_ptr<Scope> scope, const AttentionShape& shape) {
        return std::make_shared<TransformerXlScope>(std::move(scope), shape.count(), shape.head_width(), shape.width,
                                                    shape.is_never_ahead());
      }};
  }
  return {};
}

SelfAttentionRecipe recipe_of(SelfAttentionKind kind) {
  using enum SelfAttentionKind;
  const auto attention_score = [](const ScoreWidths& widths, ScoreKind score) { return recipe_of(score).make(widths); };
  const auto synthesizer = [kind](const ScoreWidths& widths, ScoreKind score) -> std::shared_ptr<Score> {
    std::shared_ptr<Score> own;
    if (kind == dense || kind == dense_attention) {
      own = std::make_shared<DenseSynthesizer>(widths);
    } else {
      own = std::make_shared<RandomSynthesizer>(widths, kind == fixed_random ? TableUse::fixed : TableUse::learnt);
    }
    if (kind != dense_attention && kind != random_attention) return own;
    return std::make_shared<MixtureScore>(widths.heads, own, recipe_of(score).make(widths));
  };
  const auto pattern_score = [](ScoreWidths widths, ScoreKind score) -> std::shared_ptr<Score> {
    const std::int64_t fixed = recipe_of(patterns).fixed(widths.heads);
    widths.heads -= fixed;
    return std::make_shared<PatternScore>(fixed, recipe_of(score).make(widths));
  };
  switch (kind) {
    case attention: return {.make = attention_score};
    case uniform:
      return {
          .reads_queries = false, .reads_keys = false, .make = [](const ScoreWidths& /*widths*/, ScoreKind /*score*/) {
            return std::make_shared<UniformScore>();
          }};
    case dense: return {.reads_keys = false, .has_table = true, .make = synthesizer};
    case random:
    case fixed_random: return {.reads_queries = false, .reads_keys = false, .has_table = true, .make = synthesizer};
    case dense_attention:
    case random_attention: return {.has_table = true, .make = synthesizer};
    case patterns: return {.looks_ahead = true, .most_fixed = kPatterns, .make = pattern_score};
    case fourier:  // no attention: models/transformer/sublayers.hpp
      return {.reads_queries = false, .reads_keys = false, .looks_ahead = true, .make = {}};
  }
  return {};
}

std::shared_ptr<Scope> make_scope(ScopeKind kind, std::int64_t query_width, std::int64_t half_width) {
  switch (kind) {
    case ScopeKind::global: return std::make_shared<GlobalScope>();
    case ScopeKind::local_m: return std::make_shared<LocalMonotonicScope>(half_width);
    case ScopeKind::local_p: return std::make_shared<LocalPredictiveScope>(query_width, half_width);
  }
  return nullptr;
}

std::shared_ptr<Choice> make_choice(ChoiceKind kind, double soft_share) {
  switch (kind) {
    case ChoiceKind::soft: return std::make_shared<SoftChoice>();
    case ChoiceKind::hard: return std::make_shared<HardChoice>(soft_share);
  }
  return nullptr;
}

}  // namespace attend
