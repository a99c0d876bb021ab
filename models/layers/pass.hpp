// What a forward pass is given beside its inputs: whether it trains and how far training is, where its random numbers
// come from, and who looks at its attention.
//
// Legend: B sentences, N heads, T queries, S keys of the longest sentence.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "core/random.hpp"
#include "models/ops/ops.hpp"

namespace attend {

// Where attention looks: the encoder and the decoder at themselves, the decoder at the encoder's output (cross).
enum class AttentionPlace { encoder, decoder, cross };

// Asks for the attention weights of a forward pass. Pictures, alignments and entropies come from here.
class Observer {
 public:
  virtual ~Observer() = default;

  // The weights of one layer over a batch, [B, N, T, S], fp32, padded with zeros; the weights of a real query sum to 1.
  // Layers are numbered from 0; a recurrent decoder's attention is layer 0 with one head.
  virtual void see_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) = 0;
};

// How far a training is.
struct TrainProgress {
  std::int64_t update = 0;  // updates made so far
  double share = 0;         // of the training that is over, from 0 to 1
};

// One forward pass. Every place that draws random numbers takes the next key, so the same (key, order of places) gives
// the same masks; adding a place changes every one after it.
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

  // The next dropout place; outside training nothing is dropped.
  ops::Dropout dropout(double rate) { return {.rate = training_ ? rate : 0.0, .key = next_key()}; }

  // Random numbers for the next place that samples.
  RandomStream random() { return RandomStream(next_key()); }

  // Who asks for attention weights, or nullptr. Layers make their weights for it alone.
  Observer* observer() const { return observer_; }

 private:
  Pass() = default;
  std::uint64_t next_key() { return combine_keys(key_, ++places_); }

  bool training_ = false;
  std::uint64_t key_ = 0;
  std::uint64_t places_ = 0;
  TrainProgress progress_;
  Observer* observer_ = nullptr;
};

}  // namespace attend
