// Replaces the weights of attention to the source in every layer and head, to measure how much a translation depends on
// them. S counts the pieces of a sentence and its end.
//
//   uniform    1 / S at every position, even outside a local scope
//   diagonal   1 at position min(t, S - 1) for target piece t, from 0 (search does not know the length of the target)
//   given      1 / n at each of the n source pieces linked with target piece t; without a link, the model's weights
//
// Hard attention reads the largest weight, the first of equal ones.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "data/text/word_alignment.hpp"
#include "models/layers/pass.hpp"

namespace attend {

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

}  // namespace attend
