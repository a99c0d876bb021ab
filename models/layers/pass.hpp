// The context of a forward pass: training or inference and the progress of training, random numbers, and the
// observation and editing of attention weights.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/options.hpp"
#include "core/random.hpp"
#include "models/layers/places.hpp"
#include "models/ops/ops.hpp"

namespace attend {

// Self-attention of the encoder or the decoder, or cross-attention to the encoder's output: of the decoder, or of the
// learnt query that pools a text.
enum class AttentionPlace { encoder, decoder, cross };
template <>
inline constexpr auto kEnumNames<AttentionPlace> = std::to_array<EnumName<AttentionPlace>>(
    {{AttentionPlace::encoder, "encoder"}, {AttentionPlace::decoder, "decoder"}, {AttentionPlace::cross, "cross"}});

// How one layer came by its attention weights, and what it made of them: the arithmetic of a forward pass, fp32.
// Tensors are [B, N, T, S] unless noted, padded as the weights; what stands at padding has no meaning.
//
//   weights = factor softmax(energies + bias), over the positions that are not outside; then an AttentionEdit
//   context = Σ_s weights_s values_s, or the value of the largest weight (hard attention)
struct AttentionArithmetic {
  torch::Tensor energies = {};  // of the score
  torch::Tensor scale = {};     // the factor of each head that they contain, [N] or [1]; undefined: none
  torch::Tensor bias = {};      // of positions, may be -infinity; undefined: 0
  torch::Tensor outside = {};   // true where a query does not attend
  torch::Tensor softmax = {};   // of energies and bias
  torch::Tensor factor = {};    // undefined: 1
  torch::Tensor weights = {};   // those that are used
  torch::Tensor context = {};   // [B, N, T, D]
  bool takes_largest = false;   // the context is the value of the largest weight
  // What query t reads at each position, [B, N, S, D]. It may be called after the pass.
  std::function<torch::Tensor(std::int64_t t)> values = {};

  // The tensors with a row for each query.
  static constexpr auto of_queries() {
    using Self = AttentionArithmetic;
    return std::array{&Self::energies, &Self::bias,    &Self::outside, &Self::softmax,
                      &Self::factor,   &Self::weights, &Self::context};
  }
};

// Receives intermediate results of a forward pass, for example for alignments and plots.
class Observer {
 public:
  virtual ~Observer() = default;

  // The weights of one layer for a batch, [B, N, T, S], fp32, padded with zeros. They sum to 1 for every query, or to
  // less in a local scope that scales them. Layers are numbered from 0; the attention of a recurrent decoder is layer 0
  // with one head. In training they are part of the graph.
  virtual void on_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) = 0;
  // False if the weights of this layer are of no interest: they need not be computed then.
  virtual bool wants_attention(AttentionPlace /*place*/, std::int64_t /*layer*/) const { return true; }

  // How the weights of a layer came about, after its on_attention. Without dropout.
  virtual void on_arithmetic(AttentionPlace /*place*/, std::int64_t /*layer*/, const AttentionArithmetic& /*steps*/) {}
  // True if that is of interest, too, for a layer whose weights are; otherwise it is not kept.
  virtual bool wants_arithmetic(AttentionPlace /*place*/, std::int64_t /*layer*/) const { return false; }

  // The hidden states of a stack of layers, [M, H], or [K, H] if only some tokens of the last layer are needed: layer 0
  // is the embedded input, layer l the output of the l-th layer, the last one after a final norm.
  virtual void on_hidden(AttentionPlace /*place*/, std::int64_t /*layer*/, const torch::Tensor& /*x_MH*/) {}
  // False if hidden states are of no interest: they need not be collected then.
  virtual bool wants_hidden() const { return true; }

  // The output F(x) of a sub-layer of a Transformer's block beside x, the residual stream to which it is added. The
  // sub-layer is "self_attention", "cross_attention" or "feed_forward".
  virtual void on_sub_layer(AttentionPlace /*place*/, std::int64_t /*layer*/, std::string_view /*sub_layer*/,
                            const torch::Tensor& /*x_MH*/, const torch::Tensor& /*output_MH*/) {}

  // The source embeddings as read by the encoder of a translation model: part of the graph, so that gradients with
  // respect to them can be computed.
  virtual void on_source(const torch::Tensor& /*embedded_SE*/) {}
};

// Replaces the attention weights of some layers before they are used: cuts small ones, silences heads, or makes others.
class AttentionEdit {
 public:
  virtual ~AttentionEdit() = default;
  // True if it edits this layer; other layers may take a fused form.
  virtual bool edits(AttentionPlace place, std::int64_t layer) const = 0;
  // The weights to use in place of these, which have the form of Observer::on_attention, but no meaning at the padding
  // of queries. `places` has the same axes. In a step, and wherever a recurrent decoder attends, there is one query,
  // and B are the rows.
  virtual torch::Tensor edit(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS,
                             const Places& places) const = 0;
};

// The positions that hard attention sampled for some rows (models/attention/hard.hpp).
struct SampledChoices {
  torch::Tensor log_probability_R;  // of the position; 0 where the expectation was used instead
  torch::Tensor entropy_R;          // of the weights, in nats
};

struct TrainProgress {
  std::int64_t update = 0;  // updates made so far
  double share = 0;         // fraction of the training that is done, from 0 to 1
};

// One forward pass. Every consumer of random numbers takes the next key, so the same key and order of consumers give
// the same masks; an additional consumer changes all later ones.
class Pass {
 public:
  static Pass inference(Observer* observer = nullptr) {
    Pass pass;
    pass.observer_ = observer;
    return pass;
  }
  static Pass train(std::uint64_t key, TrainProgress progress = {}) {
    Pass pass;
    pass.training_ = true;
    pass.key_ = key;
    pass.progress_ = progress;
    return pass;
  }

  bool training() const { return training_; }
  TrainProgress progress() const { return progress_; }

  // Dropout with the next key; inactive outside training.
  ops::Dropout dropout(double rate) { return {.rate = training_ ? rate : 0.0, .key = next_key()}; }

  // The same, but at rate 0 without taking a key: dropout that most models lack leaves the masks of the others alone.
  ops::Dropout optional_dropout(double rate) { return rate > 0 ? dropout(rate) : ops::Dropout{}; }

  RandomStream random() { return RandomStream(next_key()); }

  // Stores the samples of hard attention at each target position in `sampled`, for an objective that needs them.
  void record_choices(SampledChoices& sampled) { sampled_ = &sampled; }
  SampledChoices* sampled() const { return sampled_; }

  // Scheduled sampling (arXiv 1506.03099): the fraction of target positions at which a recurrent decoder is fed its own
  // prediction instead of the reference token.
  void feed_predictions(double share) { predicted_share_ = share; }
  double predicted_share() const { return predicted_share_; }

  // The observer of attention weights, or nullptr; without one, layers need not compute the weights.
  Observer* observer() const { return observer_; }
  void observe(Observer& observer) { observer_ = &observer; }  // must outlive the use of the pass
  bool observes_attention(AttentionPlace place, std::int64_t layer) const {
    return observer_ != nullptr && observer_->wants_attention(place, layer);
  }
  bool observes_arithmetic(AttentionPlace place, std::int64_t layer) const {
    return observes_attention(place, layer) && observer_->wants_arithmetic(place, layer);
  }
  bool observes_hidden() const { return observer_ != nullptr && observer_->wants_hidden(); }

  // Edits attention weights before they are used; `edit` must outlive the pass.
  void edit_attention(const AttentionEdit& edit) { edit_ = &edit; }
  bool edits(AttentionPlace place, std::int64_t layer) const { return edit_ != nullptr && edit_->edits(place, layer); }
  torch::Tensor edited(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS,
                       const Places& places) const {
    return edits(place, layer) ? edit_->edit(place, layer, weights_BNTS, places) : weights_BNTS;
  }

  // True if a layer must compute its weights, which fused forms do not return.
  bool needs_weights(AttentionPlace place, std::int64_t layer) const {
    return observes_attention(place, layer) || edits(place, layer);
  }

 private:
  Pass() = default;
  std::uint64_t next_key() { return combine_keys(key_, ++places_); }

  bool training_ = false;
  std::uint64_t key_ = 0;
  std::uint64_t places_ = 0;
  TrainProgress progress_;
  Observer* observer_ = nullptr;
  const AttentionEdit* edit_ = nullptr;
  SampledChoices* sampled_ = nullptr;
  double predicted_share_ = 0;
};

}  // namespace attend
