// Pooling: reduces the hidden states of a sequence to one vector (defined in pooling.cpp).
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "models/layers/pass.hpp"

namespace attend {

// An encoder's output for a batch.
struct Encoded {
  torch::Tensor hidden_MH;
  torch::Tensor last_BH;  // final state of an encoder that reads in a direction; else undefined
};

class PoolingImpl : public torch::nn::Module {
 public:
  // True if it reads only the first token of every sequence; `encoded` then contains only these, [B, H].
  virtual bool reads_first() const { return false; }

  // Returns [B, P].
  virtual torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input, Pass& pass) const = 0;
};

enum class Pooling { cls, last, mean, attention, alignment };
template <>
inline constexpr auto kEnumNames<Pooling> = std::to_array<EnumName<Pooling>>({
    {Pooling::cls, "cls"},
    {Pooling::last, "last"},
    {Pooling::mean, "mean"},
    {Pooling::attention, "attention"},
    {Pooling::alignment, "alignment"},
});

// `deviation`: standard deviation of the initial weights of BERT's pooler.
std::shared_ptr<PoolingImpl> make_pooling(Pooling pooling, std::int64_t width, double deviation);

}  // namespace attend
