#include "models/attention/attention.hpp"

#include "models/attention/dot.hpp"
#include "models/attention/general.hpp"
#include "models/attention/scaled_dot.hpp"

namespace attend {

ScoreRecipe recipe_of(ScoreKind kind) {
  switch (kind) {
    case ScoreKind::dot:
      return {true, [](auto, auto) { return std::make_shared<DotScore>(); }};
    case ScoreKind::scaled_dot:
      return {true, [](auto, auto) { return std::make_shared<ScaledDotScore>(); }};
    case ScoreKind::general:
      return {false, [](auto query, auto memory) { return std::make_shared<GeneralScore>(query, memory); }};
  }
  return {};
}

}  // namespace attend
