// A score rates how well each source position matches a query: the first part of recurrent attention (score, scope,
// choice). Each kind of score is a class in its own file.
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
  // Computes the keys [S, A] from the memory [S, W], once per sentence: the part that is the same at every step.
  virtual torch::Tensor prepare(const torch::Tensor& memory_SW) const = 0;

  // The energy of each row's query [R, H] at every position of its sentence, with keys [R, S, A] in fp32: [R, S], fp32.
  // Positions past the end of a shorter sentence are ignored.
  virtual torch::Tensor energies(const torch::Tensor& query_RH, const torch::Tensor& keys_RSA) const = 0;

  // Describes in `form` how the fused ops (ops/recurrent.hpp) compute the energies; false if they do not support it.
  virtual bool enter(ops::AttentionForm& /*form*/) const { return false; }

  // Scores with parameters outside linear maps override this.
  void initialise(RandomStream& /*random*/) override {}
};

}  // namespace attend
