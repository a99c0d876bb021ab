// Options of a Transformer's blocks, shared by translation models, BERT and language models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/conditions.hpp"
#include "models/attention/kinds.hpp"
#include "models/layers/norm.hpp"

namespace attend {

struct BlockOptions {
  std::optional<std::int64_t> heads = {}, feed_forward = {};
  std::vector<std::string> pruned_heads = {};
  ScoreKind score = ScoreKind::scaled_dot;  // declared by the models, of which each has its own default
  PositionKind positions = PositionKind::sinusoidal;
  SelfAttentionKind self_attention = SelfAttentionKind::attention;
  std::int64_t self_window = 0;
  ProjectionKind projections = ProjectionKind::all;
  bool attention_bias = true;
  NormPlace norm = NormPlace::post;
  NormKind norm_kind = NormKind::layer;
  bool residual = true;
  FeedForwardKind activation = FeedForwardKind::relu;
  double attention_dropout = 0;

  // `only`: the condition of all of them.
  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit, Condition only) {
    visit("heads", self.heads,
          {.help = "attention heads; auto: about one per 64 columns",
           .min = 1,
           .max = 256,
           .common = true,
           .only = only});
    visit("pruned-heads", self.pruned_heads,
          {.help = "missing heads, by place (encoder, decoder, cross), layer and number from 0, such as encoder.0.3 "
                   "cross.1.2; attend heads --prune chooses them; none: no head is missing",
           .placeholder = "HEAD",
           .only = only});
    visit("feed-forward", self.feed_forward,
          {.help = "inner size of the feed-forward layer, reduced to 2/3 by a gated activation; 0: no such layer; "
                   "auto: 4 x width",
           .min = 0,
           .max = 65536,
           .common = true,
           .only = only});
    visit("positions", self.positions,
          {.help = "encode the order of a sentence by vectors added to the embeddings (sinusoidal, learned), in "
                   "self-attention by vectors of distances (relative, transformer-xl), their biases (t5, alibi) or "
                   "rotations (rotary), or not at all",
           .common = true,
           .only = only});
    visit("self-attention", self.self_attention,
          {.help = "self-attention, or a replacement for it: a mean (uniform), weights computed from the query alone "
                   "(dense), or weights for each pair of positions, learnt (random) or fixed at random values "
                   "(fixed-random), mixtures with attention (dense-attention, random-attention), or, only in encoders, "
                   "fixed patterns in all heads but one (patterns) or a Fourier transform (fourier)",
           .only = only});
    visit("self-window", self.self_window,
          {.help = "positions on each side that self-attention sees; 0: all", .min = 0, .max = 1e5, .only = only});
    visit("projections", self.projections,
          {.help = "projections of self-attention: of queries, keys, values and output (all), with the same one for "
                   "queries and keys (shared-qk), of values and output only (values-only), or none",
           .only = only});
    visit("attention-bias", self.attention_bias, {.help = "projections of attention have biases", .only = only});
    visit("norm", self.norm,
          {.help = "norm after (post) or before (pre) each sub-layer, or none in the blocks",
           .common = true,
           .only = only});
    visit("norm-kind", self.norm_kind,
          {.help = "norm of the blocks: layer norm, root mean square norm, or batch norm over the tokens of a batch",
           .only = {"norm", {"post", "pre"}}});
    visit("residual", self.residual, {.help = "add its input to the output of each sub-layer", .only = only});
    visit("activation", self.activation,
          {.help = "activation of the feed-forward layer; geglu and swiglu are gated", .only = only});
    visit("attention-dropout", self.attention_dropout,
          {.help = "dropout on attention weights", .min = 0, .max = 0.95, .is_adopted = false, .only = only});
  }

  // Of options whose sizes are known: the heads that are missing, and the numbers of those that a layer has, ascending.
  std::vector<HeadPlace> pruned() const;
  std::vector<std::int64_t> kept(AttentionPlace place, std::int64_t layer) const {
    return kept_heads(pruned(), place, layer, heads.value());
  }
};

}  // namespace attend
