// The interface between models and search: a model that continues sequences token by token, such as a translation model
// with its encoded sources.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cassert>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "models/layers/pass.hpp"

namespace attend {

// The state of R hypotheses; each family has its own.
class DecoderState {
 public:
  virtual ~DecoderState() = default;
  // Keeps the given rows, in the given order; a row may occur several times (a beam that splits) or not at all.
  virtual void select(std::span<const std::int64_t> rows) = 0;
};

class StepModel {
 public:
  virtual ~StepModel() = default;

  // The state before the first token, with one row for each sequence.
  virtual std::unique_ptr<DecoderState> start() const = 0;

  // Feeds one token to every row (bos first), advances `state`, and returns the logits of the next token, [R, V], fp32.
  virtual torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& pass) const = 0;

  virtual torch::Device device() const = 0;
};

// A state (or memory) as the type of the family that made it; debug builds check the type.
template <class Own, class Base>
auto& own(Base& value) {
  using Result = std::conditional_t<std::is_const_v<Base>, const Own, Own>;
  assert(dynamic_cast<Result*>(&value) != nullptr);
  return static_cast<Result&>(value);
}

}  // namespace attend
