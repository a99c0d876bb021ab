// The context of a forward pass, and the positions of queries and keys.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "core/options.hpp"
#include "core/random.hpp"
#include "models/ops/ops.hpp"

namespace attend {

// The positions of queries and keys in their sentences, for attention: T queries and S positions; axes of size 1 are
// broadcast.
struct Places {
  torch::Tensor padding_1S;      // [..., 1, S]: true after the end of a sentence
  std::int64_t first = 0;        // query t is number `first + t` of its sentence,
  torch::Tensor chosen_T1 = {};  // or, if this is defined, number chosen_T1[..., t, 0]
  torch::Tensor hidden_TS = {};  // [..., T, S]: true where a query may not attend, in any scope; undefined: nowhere
  bool both_sides = false;       // causal scopes are lifted

  torch::Tensor lengths_11() const { return padding_1S.logical_not().sum(-1, true); }  // [..., 1, 1]
  torch::Tensor positions_S() const {
    return torch::arange(padding_1S.size(-1), padding_1S.options().dtype(torch::kLong));
  }
  // The numbers of `count` queries, [..., T, 1].
  torch::Tensor numbers_T1(std::int64_t count) const {
    if (chosen_T1.defined()) return chosen_T1;
    return torch::arange(first, first + count, padding_1S.options().dtype(torch::kLong)).unsqueeze(1);
  }
  // True where no query may attend, in any scope, [..., 1, S] or [..., T, S].
  torch::Tensor outside_TS() const { return hidden_TS.defined() ? padding_1S.logical_or(hidden_TS) : padding_1S; }
  // The distance j - i from each of `count` queries i to each position j, [..., T, S].
  torch::Tensor distances_TS(std::int64_t count) const { return positions_S() - numbers_T1(count); }
};

// The context of a forward pass: training or inference, the progress of training, random numbers, and the observation
// and editing of attention weights.
//
// Legend: docs/architecture.md.

// Self-attention of an encoder or a decoder (also a language model), or cross-attention: of a decoder to the memory, or
// of the learnt query that pools a text.
enum class AttentionPlace { encoder, decoder, cross };
template <>
inline constexpr auto kEnumNames<AttentionPlace> = std::to_array<EnumName<AttentionPlace>>(
    {{AttentionPlace::encoder, "encoder"}, {AttentionPlace::decoder, "decoder"}, {AttentionPlace::cross, "cross"}});

struct AttentionOperands;  // models/attention/weights.hpp

// Receives intermediate results of a forward pass, for example for alignments and plots.
class Observer {
 public:
  virtual ~Observer() = default;

  // The weights of one layer for a batch, after edits: [B, N, T, S], fp32, padded with zeros. Unless edited, the
  // weights of a query sum to 1, or to less in a local scope that scales them. Layers are numbered from 0; the
  // attention of a recurrent decoder is layer 0 with one head. In training, the weights are part of the graph.
  virtual void on_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) = 0;
  // False if the weights of this layer need not be computed.
  virtual bool wants_attention(AttentionPlace /*place*/, std::int64_t /*layer*/) const { return true; }

  // Called after on_attention if wanted, except by single steps of recurrent decoders.
  virtual void on_operands(AttentionPlace /*place*/, std::int64_t /*layer*/, const AttentionOperands& /*operands*/) {}
  virtual bool wants_operands() const { return false; }

  // The hidden states of a stack of layers, [M, H], or [K, H] if only some tokens of the last layer are needed: layer 0
  // is the embedded input, layer l the output of the l-th layer; the last one is taken after the final norm. They
  // are part of the graph.
  virtual void on_hidden(AttentionPlace /*place*/, std::int64_t /*layer*/, const torch::Tensor& /*x_MH*/) {}
  // False if hidden states need not be collected.
  virtual bool wants_hidden() const { return true; }

  // The output F(x) of a sub-layer of a Transformer's block, and the residual stream x to which it is added. The
  // sub-layer is "self_attention", "cross_attention" or "feed_forward".
  virtual void on_sub_layer(AttentionPlace /*place*/, std::int64_t /*layer*/, std::string_view /*sub_layer*/,
                            const torch::Tensor& /*x_MH*/, const torch::Tensor& /*output_MH*/) {}
};

// Replaces the attention weights of some layers before they are used, for example to silence heads.
class AttentionEdit {
 public:
  virtual ~AttentionEdit() = default;
  // True if it edits this layer; other layers may use fused ops.
  virtual bool edits(AttentionPlace place, std::int64_t layer) const = 0;
  // The weights to use in place of these, which are as in Observer::on_attention, but have no meaning at the padding of
  // queries. `places` has the same axes. In a decoding step, and always in a recurrent decoder, B are the rows, with
  // one query each.
  virtual torch::Tensor edit(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS,
                             const Places& places) const = 0;
};

// Hard attention that was sampled for some rows (models/attention/weights.hpp).
struct SampledChoices {
  torch::Tensor log_probability_R;  // of the sampled position; 0 where the expectation was used instead
  torch::Tensor entropy_R;          // of the weights, in nats
};

// One forward pass. Every consumer of random numbers takes the next key, so the same key and order of consumers give
// the same masks; an additional consumer changes the masks of all later ones.
class Pass {
 public:
  static Pass inference(Observer* observer = nullptr) {
    Pass pass;
    pass.observer_ = observer;
    return pass;
  }
  // `progress`: the completed fraction of training, from 0 to 1.
  static Pass train(std::uint64_t key, double progress = 0) {
    Pass pass;
    pass.training_ = true;
    pass.key_ = key;
    pass.progress_ = progress;
    return pass;
  }

  bool training() const { return training_; }
  double progress() const { return progress_; }

  // Dropout with the next key; inactive outside training.
  ops::Dropout dropout(double rate) { return {.rate = training_ ? rate : 0.0, .key = next_key()}; }

  // The same, but rate 0 takes no key: for dropout that most models lack, so that their other masks do not change.
  ops::Dropout optional_dropout(double rate) { return rate > 0 ? dropout(rate) : ops::Dropout{}; }

  RandomStream random() { return RandomStream(next_key()); }

  // Records hard attention at each target position in `sampled`, which must outlive the pass.
  void record_choices(SampledChoices& sampled) { sampled_ = &sampled; }
  SampledChoices* sampled() const { return sampled_; }

  // Scheduled sampling (arXiv 1506.03099): the fraction of target positions at which a recurrent decoder is fed its own
  // prediction instead of the reference token.
  void feed_predictions(double share) { predicted_share_ = share; }
  double predicted_share() const { return predicted_share_; }

  // May be nullptr.
  Observer* observer() const { return observer_; }
  void observe(Observer& observer) { observer_ = &observer; }  // must outlive the pass
  bool observes_attention(AttentionPlace place, std::int64_t layer) const {
    return observer_ != nullptr && observer_->wants_attention(place, layer);
  }
  bool observes_hidden() const { return observer_ != nullptr && observer_->wants_hidden(); }

  // `edit` must outlive the pass.
  void edit_attention(const AttentionEdit& edit) { edit_ = &edit; }
  bool edits(AttentionPlace place, std::int64_t layer) const { return edit_ != nullptr && edit_->edits(place, layer); }
  torch::Tensor edited(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS,
                       const Places& places) const {
    return edits(place, layer) ? edit_->edit(place, layer, weights_BNTS, places) : weights_BNTS;
  }

  // True if a layer must compute its weights and cannot use a fused op.
  bool needs_weights(AttentionPlace place, std::int64_t layer) const {
    return observes_attention(place, layer) || edits(place, layer);
  }

 private:
  Pass() = default;
  std::uint64_t next_key() { return combine_keys(key_, ++places_); }

  bool training_ = false;
  std::uint64_t key_ = 0;
  std::uint64_t places_ = 0;
  double progress_ = 0;
  Observer* observer_ = nullptr;
  const AttentionEdit* edit_ = nullptr;
  SampledChoices* sampled_ = nullptr;
  double predicted_share_ = 0;
};

}  // namespace attend
