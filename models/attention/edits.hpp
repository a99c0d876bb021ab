// Edits of attention weights before they are used, and learnt gates of heads.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "data/text/word_alignment.hpp"
#include "models/attention/kinds.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/pass.hpp"

namespace attend {

// Attention weights below a threshold are set to 0, so that a reader sees only the positions that matter for a
// translation. The other weights keep their proportions and are scaled to the previous sum. If all are below the
// threshold, the largest stays (the first of equal ones).
//
//   cut_weights({0.5, 0.3, 0.16, 0.04}, 0.05)   {0.52, 0.31, 0.17, 0}
//   cut_weights({0.5, 0.3, 0.16, 0.04}, 0.6)    {1, 0, 0, 0}

// The weights that are kept, scaled along the last axis to the sum of all. Those of a query that keeps none are 0.
inline at::Tensor scaled_to_sum(const at::Tensor& kept, const at::Tensor& weights) {
  return kept * (weights.sum(-1, true) / kept.sum(-1, true).clamp_min(std::numeric_limits<float>::min()));
}

// Cuts along the last axis. The weights of a query without keys stay 0.
inline at::Tensor cut_weights(const at::Tensor& weights, double threshold) {
  const at::Tensor is_largest = at::zeros_like(weights, at::kBool).scatter(-1, weights.argmax(-1, true), true);
  return scaled_to_sum(weights.masked_fill(weights.lt(threshold).logical_and(is_largest.logical_not()), 0), weights);
}

// Cuts the weights of a decoder's attention to the source; a threshold of 0 leaves all.
class CutWeights final : public AttentionEdit {
 public:
  explicit CutWeights(double threshold) : threshold_(threshold) {}
  bool edits(AttentionPlace place, std::int64_t /*layer*/) const override {
    return threshold_ > 0 && place == AttentionPlace::cross;
  }
  torch::Tensor edit(AttentionPlace /*place*/, std::int64_t /*layer*/, const torch::Tensor& weights_BNTS,
                     const Places& /*places*/) const override {
    return cut_weights(weights_BNTS, threshold_);
  }

 private:
  double threshold_;
};

// Replaces the weights of attention to the source in every layer and head, to measure how much a translation depends on
// them. S counts the pieces of a sentence and its end.
//
//   uniform    1 / S at every position, even outside a local scope
//   diagonal   1 at position min(t, S - 1) for target piece t, from 0 (search does not know the length of the target)
//   given      1 / n at each of the n source pieces linked with target piece t; without a link, the model's weights
//
// Hard attention reads the largest weight, the first of equal ones.

class ReplacedWeights : public AttentionEdit {
 public:
  bool edits(AttentionPlace place, std::int64_t /*layer*/) const override { return place == AttentionPlace::cross; }
};

class UniformWeights final : public ReplacedWeights {
 public:
  at::Tensor edit(AttentionPlace /*place*/, std::int64_t /*layer*/, const at::Tensor& weights_BNTS,
                  const Places& places) const override {
    const at::Tensor attended_B11S = places.padding_1S.logical_not().to(weights_BNTS.scalar_type());
    return (attended_B11S / attended_B11S.sum(-1, true)).expand_as(weights_BNTS);
  }
};

class DiagonalWeights final : public ReplacedWeights {
 public:
  at::Tensor edit(AttentionPlace /*place*/, std::int64_t /*layer*/, const at::Tensor& weights_BNTS,
                  const Places& places) const override {
    const at::Tensor position_B1T1 = places.numbers_T1(weights_BNTS.size(2)).minimum(places.lengths_11() - 1);
    return places.positions_S().eq(position_B1T1).to(weights_BNTS.scalar_type()).expand_as(weights_BNTS);
  }
};

// For a batch of one sentence pair. Without links, all weights are the model's.
class GivenWeights final : public ReplacedWeights {
 public:
  // Links between pieces; the source pieces must be within the model's input.
  explicit GivenWeights(const std::vector<Link>& links) {
    for (const Link& link : links) sources_[link.tgt].insert(link.src);
  }
  at::Tensor edit(AttentionPlace /*place*/, std::int64_t /*layer*/, const at::Tensor& weights_BNTS,
                  const Places& places) const override {
    if (sources_.empty()) return weights_BNTS;
    ensure(weights_BNTS.size(0) == 1, "links of the one sentence of a batch");
    at::Tensor given_BNTS = weights_BNTS.clone();
    for (std::int64_t t = 0; t < weights_BNTS.size(2); ++t) {
      const auto found = sources_.find(places.first + t);
      if (found == sources_.end()) continue;
      const std::vector<std::int64_t> linked(found->second.begin(), found->second.end());
      at::Tensor row_BNS = given_BNTS.select(2, t).zero_();
      row_BNS.index_fill_(2, at::tensor(linked, at::kLong).to(row_BNS.device()),
                          1 / static_cast<double>(linked.size()));
    }
    return given_BNTS;
  }
  // The number of target pieces with a link.
  std::int64_t linked() const { return std::ssize(sources_); }

 private:
  std::map<std::int64_t, std::set<std::int64_t>> sources_;  // of each linked target piece
};

// Cuts links between words: in every layer and head of a place, the weight of query `tgt` on position `src` becomes 0,
// and the query's other weights are scaled to the previous sum. For a batch whose sentences all have these links.
//
//   weights {.6, .3, .1} of query 1, link 0-1    {0, .75, .25}
class CutLinks final : public AttentionEdit {
 public:
  using LinksOfPlaces = std::map<AttentionPlace, std::vector<Link>>;

  explicit CutLinks(LinksOfPlaces links) : links_(std::move(links)) {}

  bool edits(AttentionPlace place, std::int64_t /*layer*/) const override { return links_.contains(place); }
  at::Tensor edit(AttentionPlace place, std::int64_t /*layer*/, const at::Tensor& weights_BNTS,
                  const Places& places) const override {
    edited_.insert(place);
    const at::Tensor numbers_T1 = places.numbers_T1(weights_BNTS.size(2)), positions_S = places.positions_S();
    at::Tensor kept_BNTS = weights_BNTS;
    for (const Link& link : links_.at(place)) {
      kept_BNTS = kept_BNTS.masked_fill(numbers_T1.eq(link.tgt).logical_and(positions_S.eq(link.src)), 0);
    }
    return scaled_to_sum(kept_BNTS, weights_BNTS);
  }
  // The first place without weights in the passes made so far, which one worker has made; nullopt: none.
  std::optional<AttentionPlace> unused() const {
    const auto found = std::ranges::find_if(links_, [&](const auto& entry) { return !edited_.contains(entry.first); });
    return found == links_.end() ? std::nullopt : std::optional(found->first);
  }

 private:
  LinksOfPlaces links_;
  mutable std::set<AttentionPlace> edited_;
};

// Silences heads: their weights, and thus their outputs, become 0, so that only the other heads of the layer contribute
// (Michel, Levy and Neubig 2019, arXiv 1905.10650, section 2.3).
class SilencedHeads final : public AttentionEdit {
 public:
  explicit SilencedHeads(std::span<const HeadPlace> heads) : heads_(heads.begin(), heads.end()) {}

  bool edits(AttentionPlace place, std::int64_t layer) const override {
    return std::ranges::any_of(heads_,
                               [&](const HeadPlace& head) { return head.place == place && head.layer == layer; });
  }
  at::Tensor edit(AttentionPlace place, std::int64_t layer, const at::Tensor& weights_BNTS,
                  const Places& /*places*/) const override {
    at::Tensor edited_BNTS = weights_BNTS.clone();
    for (const HeadPlace& head : heads_) {
      if (head.place == place && head.layer == layer) edited_BNTS.select(1, head.head).zero_();
    }
    return edited_BNTS;
  }

 private:
  std::vector<HeadPlace> heads_;
};

// Learnt gates of attention heads (Voita et al. 2019, arXiv 1905.09418, section 6.1): head h of a layer is multiplied
// by a gate g_h, and training adds a penalty for each head that is open. A gate has the hard concrete distribution
// (Louizos, Welling and Kingma 2018, arXiv 1712.01312, eq. 10 to 13) with one parameter, log α; β = 0.33, γ = -0.1 and
// ζ = 1.1, as in the code of Voita et al. (lena-voita/the-story-of-heads, lib/layers/concrete_gate.py):
//
//   g = clip(s (ζ - γ) + γ, 0, 1),  s = σ((log u - log(1 - u) + log α) / β),  u uniform in (0, 1)    in training
//   g = clip(σ(log α) (ζ - γ) + γ, 0, 1)                                                             otherwise
//   P(g ≠ 0) = σ(log α - β log(-γ / ζ))
//
//   log α = 0: 0.5, open with probability 0.688;  log α = 3, where gates start: 1, 0.978;  log α = -2.4 and below: 0
//
// As in that code, all sentences of a pass share the gates that it draws.
//
// Legend: docs/architecture.md.

// The gates of one layer.
class LearntGates final : public Layer {
 public:
  LearntGates(AttentionPlace place, std::int64_t heads);

  // The heads' vectors side by side, each times its gate: [M, H].
  torch::Tensor gated(const torch::Tensor& context_MH, Pass& pass) const;

  torch::Tensor sample_N(RandomStream& random) const;  // as in training
  torch::Tensor values_N() const;                      // outside training
  torch::Tensor open_probabilities_N() const;          // P(g ≠ 0)

  AttentionPlace place() const { return place_; }
  void initialise(RandomStream& random) override;

 private:
  AttentionPlace place_;
  torch::Tensor log_alpha_;  // [N]
};

// The gates of one layer; the model owns them.
struct LayerGates {
  AttentionPlace place;
  std::int64_t layer;  // from 0
  const LearntGates* gates;
};
// The gates of all layers, by stack and layer; empty if the model has none.
std::vector<LayerGates> gates_of(const torch::nn::Module& model);

inline bool is_of_gates(std::string_view parameter) { return parameter.ends_with(".gates.log_alpha"); }

// Factor of the learning rate of gates: from open to closed, log α falls by more than 5, for which Adam would need ten
// thousand updates at a rate of 5e-4.
inline constexpr double kGateRate = 100;

}  // namespace attend
