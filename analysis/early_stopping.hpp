// Training of a small module until the loss of held-out items no longer falls, shared by all probes of hidden states.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <span>

namespace attend {

// An epoch reads all items in batches, in a new order. After an epoch whose held-out loss is not the least so far, the
// learning rate is halved; after kPatience of them in a row, or kMostEpochs in all, training ends with the weights of
// the least loss. The optimiser is Adam (train/optimiser.hpp).
struct EarlyStopping {
  static constexpr int kMostEpochs = 60;
  static constexpr int kPatience = 4;

  std::int64_t items = 0;  // at least one
  std::int64_t batch = 0;
  double learning_rate = 0;
  std::uint64_t seed = 0;                                                       // of the order
  std::function<torch::Tensor(std::span<const std::int64_t> items)> loss = {};  // with a gradient
  std::function<double()> held_out_loss = {};                                   // called without gradients
};

// Trains `module`, which has its initial weights. Interrupted after SIGINT or SIGTERM.
void train_with_early_stopping(const torch::nn::Module& module, const EarlyStopping& how);

}  // namespace attend
