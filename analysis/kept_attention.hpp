// The attention of the compared sentences that a report keeps. A sentence has weights of all layers and heads for two
// texts of every system, so those of a large test set would not fit into memory.
#pragma once

#include <vector>

#include "analysis/report/comparison.hpp"
#include "models/run/run.hpp"

namespace attend {

struct KeptAttentionConfig {
  double threshold = 0;  // of search: weights below are cut
  bool all = false;      // of every sentence, whatever its size
};

// Adds the maps of the first sentences, until the page holds no more (kAttentionBudget) or their weights take
// kMostKeptWeights bytes, and counts the sentences left out. `models` is parallel to the systems; null without a model.
// Interrupted after SIGINT or SIGTERM.
inline constexpr std::size_t kMostKeptWeights = std::size_t{32} << 20;
void add_attention(Comparison& comparison, const std::vector<const Run*>& models, const KeptAttentionConfig& config);

}  // namespace attend
