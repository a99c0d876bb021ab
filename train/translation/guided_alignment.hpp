// Guided alignment: the attention to the source learns from given links between words, besides the translation (Chen et
// al. 2016, arXiv 1607.01628, eq. 9; Garg et al. 2019, arXiv 1909.02074, section 4.2).
//
//   loss = -Σ_t Σ_s g_ts log a_ts
//
// a_ts is the weight that the first head of one layer (or the attention of a recurrent decoder) gives to source piece s
// while it predicts target piece t. g_t is uniform over the source pieces that t is linked with; a piece without links,
// and the end of the sentence, have no loss. The trainer divides by the number of target tokens, as Garg et al. do.
#pragma once

#include <ATen/ATen.h>
#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "models/layers/pass.hpp"

namespace attend {

struct GuidedAlignmentConfig {
  std::string links;
  double weight = 0.1;
  std::optional<std::int64_t> layer;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("guided-alignment", self.links,
          {.help = "links between the words of each training pair, such as 0-0 1-2, that attention learns; empty: none",
           .placeholder = "FILE",
           .may_change = true,
           .only = {"model", {"transformer", "luong", "bahdanau"}}});
    visit("guided-weight", self.weight,
          {.help = "weight of that loss beside the cross-entropy of words",
           .min = 1e-6,
           .max = 1e6,
           .only = {"guided-alignment"}});
    visit("guided-layer", self.layer,
          {.help = "decoder layer of a transformer, from 0, whose first head learns the links; auto: the last",
           .min = 0,
           .max = 95,
           .only = {"guided-alignment"}});
  }

  bool guides() const { return !links.empty(); }
};

// Observes the attention that is guided, in one forward pass.
class GuidedAttention : public Observer {
 public:
  explicit GuidedAttention(std::int64_t layer) : layer_(layer) {}

  bool wants_attention(AttentionPlace place, std::int64_t layer) const override {
    return place == AttentionPlace::cross && layer == layer_;
  }
  bool wants_hidden() const override { return false; }
  void on_attention(AttentionPlace /*place*/, std::int64_t /*layer*/, const torch::Tensor& weights_BNTS) override {
    weights_BTS_ = weights_BNTS.select(1, 0);
  }

  // The sum over a batch, whose guided cells are those of weights of this form; 0 if the layer was dropped.
  torch::Tensor loss(const Batch& batch) const {
    if (!weights_BTS_.defined()) return at::zeros({}, batch.guided_K.options());
    const torch::Tensor weights_K = weights_BTS_.flatten().index_select(0, batch.guided_cells_K);
    return -(batch.guided_K * weights_K.clamp_min(1e-30).log()).sum();  // a local scope gives 0 outside its window
  }

 private:
  std::int64_t layer_;
  torch::Tensor weights_BTS_;
};

}  // namespace attend
