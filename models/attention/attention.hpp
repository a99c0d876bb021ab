// The parts of recurrent attention together, and the factory that makes them: the only place that switches on their
// kinds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "models/attention/choice.hpp"
#include "models/attention/kinds.hpp"
#include "models/attention/scope.hpp"
#include "models/attention/score.hpp"

namespace attend {

struct Attention {
  std::shared_ptr<Score> score;
  std::shared_ptr<Scope> scope;
  std::shared_ptr<Choice> choice;

  // Whether the fused forms of ops/recurrent.hpp compute this combination.
  bool has_fused_form() const { return score->is_dot_product() && scope->is_global() && choice->is_soft(); }
};

// How a score is made. A score that compares queries with the memory directly needs both to have the same width.
struct ScoreRecipe {
  bool needs_equal_widths = false;
  std::function<std::shared_ptr<Score>(std::int64_t query_width, std::int64_t memory_width)> make;
};
ScoreRecipe recipe_of(ScoreKind kind);

}  // namespace attend
