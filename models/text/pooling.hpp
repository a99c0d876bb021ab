// Pooling: reduces the hidden states of a sequence to one vector.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/layers.hpp"

namespace attend {

// An encoder's output for a batch.
struct Encoded {
  torch::Tensor hidden_MH;
  torch::Tensor last_BH;  // final state of a recurrent encoder; undefined for others
};

class PoolingImpl : public torch::nn::Module {
 public:
  // True if it reads only the first token of every sequence; `encoded` then contains only these, [B, H].
  virtual bool reads_first() const { return false; }

  // Returns [B, P].
  virtual torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input) const = 0;
};

// BERT's pooler of the first token, [CLS]: P = H.
class ClsPoolingImpl : public PoolingImpl {
 public:
  ClsPoolingImpl(std::int64_t width, double deviation);
  bool reads_first() const override { return true; }
  torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input) const override;

 private:
  BertPooler pooler_;
};

// The final states of both directions, concatenated: P = H.
class LastPoolingImpl : public PoolingImpl {
 public:
  torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input) const override;
};

// The mean over all tokens: P = H.
class MeanPoolingImpl : public PoolingImpl {
 public:
  torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input) const override;
};

// Σ_t a_t h_t with a = softmax_t(tanh(W h_t + b) · u) and a parameter u (Yang et al. 2016, "Hierarchical Attention
// Networks for Document Classification", eq. 5 to 7): P = H.
class AttentionPoolingImpl : public PoolingImpl {
 public:
  explicit AttentionPoolingImpl(std::int64_t width);
  torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input) const override;

 private:
  Linear projection_;
  Linear query_;
};

// Compares two texts token by token (Parikh et al. 2016, arXiv 1606.01933; Chen et al. 2017, 1609.06038): energies
// e_ij = a_i · b_j / sqrt(H) align each token with the other text, a~_i = Σ_j softmax_j(e_ij) b_j, and b~_j likewise;
// relu(W [x; x~; x - x~; x * x~]) of both texts is pooled by mean and maximum, and tanh(V ·) of the four vectors is the
// result: P = H. [CLS] and [SEP] belong to the text that contains them.
class AlignmentPoolingImpl : public PoolingImpl {
 public:
  explicit AlignmentPoolingImpl(std::int64_t width);
  torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input) const override;

 private:
  Linear compare_;
  Linear dense_;
};

enum class Pooling { cls, last, mean, attention, alignment };
template <>
inline constexpr auto kEnumNames<Pooling> = std::to_array<EnumName<Pooling>>({{Pooling::cls, "cls"},
                                                                              {Pooling::last, "last"},
                                                                              {Pooling::mean, "mean"},
                                                                              {Pooling::attention, "attention"},
                                                                              {Pooling::alignment, "alignment"}});

// `deviation`: standard deviation of the initial weights of BERT's pooler.
std::shared_ptr<PoolingImpl> make_pooling(Pooling pooling, std::int64_t width, double deviation);

}  // namespace attend
