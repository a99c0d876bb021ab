// Guided attention: besides the translation, the weights of a head learn given links between words.
//
//   loss = -Σ_t Σ_s g_ts log a_ts
//
// a_ts is the weight that query t gives to piece s; g_t is uniform over the pieces linked with t. A piece without
// links, and the end of a sentence, have no loss. There are two guides:
//
//   alignment   from each target piece to the source pieces that it translates, while it is predicted: of the first
//               head of a layer of the decoder, or of the attention of a recurrent decoder (Chen et al. 2016, arXiv
//               1607.01628, eq. 9; Garg et al. 2019, arXiv 1909.02074, section 4.2)
//   relations   from each source word to the word that it depends on, and from the root to itself: of a head of the
//               encoder's self-attention (Strubell et al. 2018, arXiv 1804.08199, whose head has a bilinear score)
//
// The trainer divides the loss of alignment by the number of target tokens, as Garg et al. do, and that of relations by
// the number of source tokens.
#pragma once

#include <ATen/ATen.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

struct GuidedRelationsConfig {
  std::string trees = {};
  double weight = 0.1;
  std::optional<std::int64_t> layer = {};
  std::int64_t head = 0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("guided-relations", self.trees,
          {.help = "dependency trees in CoNLL-U of the source lines of --train, in order, from which a head of the "
                   "encoder learns to attend from each word to the one it depends on; empty: none",
           .placeholder = "FILE",
           .may_change = true,
           .only = {"model", {"transformer"}}});
    visit("guided-relations-weight", self.weight,
          {.help = "weight of that loss beside the cross-entropy of words",
           .min = 1e-6,
           .max = 1e6,
           .only = {"guided-relations"}});
    visit("guided-relations-layer", self.layer,
          {.help = "encoder layer of that head, from 0; auto: the middle one",
           .min = 0,
           .max = 95,
           .only = {"guided-relations"}});
    visit("guided-relations-head", self.head,
          {.help = "number of that head in its layer, from 0", .min = 0, .max = 255, .only = {"guided-relations"}});
  }

  bool guides() const { return !trees.empty(); }
};

// A guided head, the cells of a batch that it learns, and the name and weight of its loss.
struct GuidedHead {
  AttentionPlace place;
  std::int64_t layer;
  std::int64_t head;
  GuidedCells Batch::*cells;
  const char* name = "";
  double weight = 1;
};

// Observes the weights of guided heads in one forward pass.
class GuidedAttention : public Observer {
 public:
  explicit GuidedAttention(std::vector<GuidedHead> heads) : heads_(std::move(heads)), weights_BTS_(heads_.size()) {}

  bool wants_attention(AttentionPlace place, std::int64_t layer) const override {
    return std::ranges::any_of(heads_, [&](const GuidedHead& head) { return is_in(head, place, layer); });
  }
  bool wants_hidden() const override { return false; }
  void on_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) override {
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      if (is_in(heads_[i], place, layer)) weights_BTS_[i] = weights_BNTS.select(1, heads_[i].head);
    }
  }

  // The loss of the head at `index`, summed over a batch whose cells index the padded weights [B, T, S]; 0 if the layer
  // was dropped.
  torch::Tensor loss(std::size_t index, const Batch& batch) const {
    const auto& [cells_K, shares_K] = batch.*heads_[index].cells;
    if (!weights_BTS_[index].defined()) return at::zeros({}, shares_K.options());
    const torch::Tensor weights_K = weights_BTS_[index].flatten().index_select(0, cells_K);
    return -(shares_K * weights_K.clamp_min(1e-30).log()).sum();  // a local scope gives 0 outside its window
  }

 private:
  static bool is_in(const GuidedHead& head, AttentionPlace place, std::int64_t layer) {
    return head.place == place && head.layer == layer;
  }

  std::vector<GuidedHead> heads_;
  std::vector<torch::Tensor> weights_BTS_;  // of each
};

}  // namespace attend
