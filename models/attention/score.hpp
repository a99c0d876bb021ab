// A score rates how well each position of a sentence matches a query: the first of the parts of recurrent attention
// (score, scope, choice, and the decoder). Each kind of score is one class in its own file.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <memory>

#include "models/layers/layers.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

class Score : public Layer {
 public:
  // Prepares the keys once per sentence: memory [S, W] to keys [S, A], whatever is the same at every step.
  virtual torch::Tensor prepare(const torch::Tensor& memory_SW) const = 0;

  // The energy of each row's query [R, H] at every position of the sentence it reads, keys [R, S, A] in fp32: [R, S],
  // fp32. Positions after the end of a shorter sentence are ignored.
  virtual torch::Tensor energies(const torch::Tensor& query_RH, const torch::Tensor& keys_RSA) const = 0;

  // Says in `form` how the fused ops (ops/recurrent.hpp) compute the energies from the keys; false if they do not.
  virtual bool enter(ops::AttentionForm& /*form*/) const { return false; }

  // Scores with parameters of their own, not only in linear maps, initialise them.
  void initialise(RandomStream& /*random*/) override {}
};

}  // namespace attend
