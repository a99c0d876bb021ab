// The context of a forward pass, besides its inputs: whether it trains and how far training has come, its random
// numbers, and how its attention is observed and cut.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "core/random.hpp"
#include "models/ops/ops.hpp"

namespace attend {

// Self-attention of the encoder or the decoder, or the decoder's attention to the encoder's output (cross).
enum class AttentionPlace { encoder, decoder, cross };

// Receives what a forward pass computes on its way, for example for alignments and plots.
class Observer {
 public:
  virtual ~Observer() = default;

  // The weights of one layer over a batch, [B, N, T, S], fp32, padded with zeros; the weights of a real query sum to 1,
  // or less in a local scope that scales them. Layers are numbered from 0; a recurrent decoder's attention is layer 0
  // with one head.
  virtual void see_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) = 0;

  // The embedded source pieces of a translation model, as its encoder reads them: a part of the graph, so that
  // gradients with respect to them can be asked for.
  virtual void see_source(const torch::Tensor& /*embedded_SE*/) {}
};

// The positions that hard attention sampled for some rows (models/attention/hard.hpp).
struct SampledChoices {
  torch::Tensor log_probability_R;  // of the position, 0 where the expectation was taken instead
  torch::Tensor entropy_R;          // of the weights, in nats
};

// How far training has come.
struct TrainProgress {
  std::int64_t update = 0;  // updates made so far
  double share = 0;         // of the training that is done, from 0 to 1
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

  // Dropout with the next key; none outside training.
  ops::Dropout dropout(double rate) { return {.rate = training_ ? rate : 0.0, .key = next_key()}; }

  // Random numbers with the next key.
  RandomStream random() { return RandomStream(next_key()); }

  // What hard attention samples at each target position of a batch goes to `sampled`, for an objective that needs it.
  void record_choices(SampledChoices& sampled) { sampled_ = &sampled; }
  SampledChoices* sampled() const { return sampled_; }

  // Scheduled sampling: the share of target positions at which a recurrent decoder is fed the word it prefers itself in
  // place of the true one (arXiv 1506.03099).
  void feed_own_words(double share) { own_words_ = share; }
  double own_words() const { return own_words_; }

  // The observer of attention weights, or nullptr, in which case layers need not compute them.
  Observer* observer() const { return observer_; }

  // Weights of the decoder's attention to the source under the threshold are cut (cut_weights.hpp); 0: none.
  void set_attention_threshold(double threshold) { attention_threshold_ = threshold; }
  double attention_threshold() const { return attention_threshold_; }

  // Whether a layer has to compute the weights of attention to the source, which fused forms do not.
  bool needs_weights() const { return observer_ != nullptr || attention_threshold_ > 0; }

 private:
  Pass() = default;
  std::uint64_t next_key() { return combine_keys(key_, ++places_); }

  bool training_ = false;
  std::uint64_t key_ = 0;
  std::uint64_t places_ = 0;
  TrainProgress progress_;
  Observer* observer_ = nullptr;
  double attention_threshold_ = 0;
  SampledChoices* sampled_ = nullptr;
  double own_words_ = 0;
};

}  // namespace attend
