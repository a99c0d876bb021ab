// The kinds of the parts of attention, and the factories that make them: the only place that switches on those kinds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/attention/choice.hpp"
#include "models/attention/kinds.hpp"
#include "models/attention/scope.hpp"
#include "models/attention/score.hpp"

namespace attend {

// How a score is made, and what else others have to know of it.
struct ScoreRecipe {
  bool needs_equal_widths = false;  // compares queries with the memory as it is
  bool takes_coverage = false;      // its keys remain keys when something is added to them
  bool compares_pairs = false;      // each pair of a query and a position costs a product of two vectors
  std::function<std::shared_ptr<Score>(const ScoreWidths&)> make;
};
ScoreRecipe recipe_of(ScoreKind kind);

// How a Transformer's positions are encoded: by sinusoids or a learnt table that are added to the embeddings, by
// turning queries and keys, or by a scope around that of each self-attention. Attention to another sentence does not
// see positions.
struct HeadsOfScope {
  std::int64_t heads = 1;               // of the whole model
  std::vector<std::int64_t> kept = {};  // the numbers of those that there are; empty: all
  std::int64_t width = 0;               // of each head
  bool causal = false;

  std::int64_t count() const { return kept.empty() ? heads : std::ssize(kept); }
};
struct PositionRecipe {
  bool adds_sinusoids = false;
  bool adds_table = false;
  bool turns = false;
  bool is_added() const { return adds_sinusoids || adds_table; }
  std::function<std::shared_ptr<Scope>(std::shared_ptr<Scope> scope, const HeadsOfScope& heads)> around;
};
PositionRecipe recipe_of(PositionKind kind);

// What stands in for the score of self-attention, and what it reads. `score` is that of attention, where it has a part.
struct SelfAttentionRecipe {
  bool reads_queries = true, reads_keys = true;
  bool compares_tokens = true;  // by the score of attention
  bool looks_ahead = false;     // reads what a decoder has not written yet
  bool has_table = false;       // of positions
  std::int64_t most_fixed = 0;  // heads without queries and keys; one head always has them
  std::function<std::shared_ptr<Score>(const ScoreWidths& widths, ScoreKind score)> make;  // empty: no attention

  bool has_weights() const { return make != nullptr; }
  std::int64_t fixed(std::int64_t heads) const { return std::min(heads - 1, most_fixed); }
};
SelfAttentionRecipe recipe_of(SelfAttentionKind kind);

// True if a part of a model with these kinds has a table of positions.
inline bool have_tables(PositionKind positions, SelfAttentionKind self_attention) {
  return recipe_of(positions).adds_table || recipe_of(self_attention).has_table;
}

// `half_width`: of a local scope.
std::shared_ptr<Scope> make_scope(ScopeKind kind, std::int64_t query_width, std::int64_t half_width);

// `soft_share`: of the hard choice.
std::shared_ptr<Choice> make_choice(ChoiceKind kind, double soft_share);

}  // namespace attend
