// The properties of each kind of a part of attention, and the factories of the parts: the only place that switches on
// these kinds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/attention/kinds.hpp"
#include "models/attention/scopes.hpp"
#include "models/attention/score.hpp"
#include "models/attention/weights.hpp"

namespace attend {

struct ScoreRecipe {
  bool needs_equal_widths = false;  // queries and memory must have the same width
  bool takes_coverage = false;      // coverage may be added to its keys
  bool compares_pairs = false;      // each pair of a query and a position costs a product of two vectors
  std::function<std::shared_ptr<Score>(const ScoreWidths&)> make;
};
ScoreRecipe recipe_of(ScoreKind kind);

// One attention of a stack, without its options. Pruned heads count neither in N nor in H.
struct AttentionShape {
  AttentionPlace place = AttentionPlace::encoder;
  std::int64_t width = 0;               // of all heads, pruned ones included
  std::int64_t heads = 1;               // pruned ones included
  std::vector<std::int64_t> kept = {};  // the heads that are not pruned, ascending; empty: all
  std::int64_t longest = 0;             // rows of tables of positions
  // Standard deviations of initial weights, of maps in a score and of projections; 0: Xavier's rule.
  double score_deviation = 0;
  double deviation = 0;
  double output_scale = 1;  // factor of the deviation of out_proj
  bool gates = false;       // a learnt gate for each head
  bool hybrid = false;      // a causal scope may be lifted (Heads::within)

  bool causal() const { return place == AttentionPlace::decoder; }
  bool is_never_ahead() const { return causal() && !hybrid; }  // no query attends to a later position
  std::int64_t count() const { return kept.empty() ? heads : std::ssize(kept); }  // N
  std::int64_t head_width() const { return width / heads; }                       // D
  std::int64_t columns() const { return count() * head_width(); }                 // H
};
// How a Transformer encodes positions: by sinusoids or a learnt table, added to the embeddings, by turning queries and
// keys, or by a scope around that of self-attention. Attention to a memory does not see positions.
struct PositionRecipe {
  bool adds_sinusoids = false;
  bool adds_table = false;
  bool turns = false;
  bool is_added() const { return adds_sinusoids || adds_table; }
  std::function<std::shared_ptr<Scope>(std::shared_ptr<Scope> scope, const AttentionShape& shape)> around;
};
PositionRecipe recipe_of(PositionKind kind);

// A kind of self-attention and its inputs. `score` is the score of attention, if this kind reads keys.
struct SelfAttentionRecipe {
  bool reads_queries = true;
  bool reads_keys = true;       // compares tokens, by the score of attention
  bool looks_ahead = false;     // reads positions after the query: only for encoders
  bool has_table = false;       // of positions
  std::int64_t most_fixed = 0;  // maximum of heads without queries and keys; at least one head has them
  std::function<std::shared_ptr<Score>(const ScoreWidths& widths, ScoreKind score)> make;  // empty: no attention

  bool has_weights() const { return make != nullptr; }
  std::int64_t fixed(std::int64_t heads) const { return std::min(heads - 1, most_fixed); }
};
SelfAttentionRecipe recipe_of(SelfAttentionKind kind);

// True if a model with these kinds has a table of positions.
inline bool have_tables(PositionKind positions, SelfAttentionKind self_attention) {
  return recipe_of(positions).adds_table || recipe_of(self_attention).has_table;
}

// `half_width`: of a local scope.
std::shared_ptr<Scope> make_scope(ScopeKind kind, std::int64_t query_width, std::int64_t half_width);

// `soft_share`: of the hard choice.
std::shared_ptr<Choice> make_choice(ChoiceKind kind, double soft_share);

}  // namespace attend
