// One vector out of the hidden states of a sequence: what a classifier reads.
//
// Legend: B sequences, M tokens (ragged), T longest, H width, P width of the result.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "models/layers/layers.hpp"

namespace attend {

// What an encoder made of a batch.
struct Encoded {
  torch::Tensor hidden_MH;
  torch::Tensor last_BH;  // where a recurrence stopped reading; undefined without one
};

class PoolingImpl : public torch::nn::Module {
 public:
  // Whether it reads the first token of every sequence and no other: `encoded` is then of these, [B, H].
  virtual bool reads_first() const { return false; }

  // [B, P].
  virtual torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input) const = 0;
};

// tanh(W h + b) of the first token, [CLS] (arXiv 1810.04805): P = H. Named as Hugging Face's pooler.
class ClsPoolingImpl : public PoolingImpl {
 public:
  ClsPoolingImpl(std::int64_t width, double deviation);
  bool reads_first() const override { return true; }
  torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input) const override;

 private:
  Linear dense_;
};
TORCH_MODULE(ClsPooling);

// Where the recurrence stopped reading, the directions side by side: P = H.
class LastPoolingImpl : public PoolingImpl {
 public:
  torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input) const override;
};

// The mean over all tokens: P = H.
class MeanPoolingImpl : public PoolingImpl {
 public:
  torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input) const override;
};

// Σ_t a_t h_t with a = softmax_t(tanh(W h_t + b) · u), u learnt (Yang et al. 2016, "Hierarchical Attention Networks for
// Document Classification", eq. 5 to 7): P = H.
class AttentionPoolingImpl : public PoolingImpl {
 public:
  explicit AttentionPoolingImpl(std::int64_t width);
  torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input) const override;

 private:
  Linear projection_;
  Linear query_;
};

// Two texts compared word by word (Parikh et al. 2016, arXiv 1606.01933; Chen et al. 2017, 1609.06038): with energies
// e_ij = a_i · b_j / sqrt(H), each token meets what the other text has for it, a~_i = Σ_j softmax_j(e_ij) b_j, and b~_j
// likewise; relu(W [x; x~; x - x~; x * x~]) of both texts are pooled by mean and maximum, and tanh(V ·) of the four
// vectors is the result: P = H. [CLS] and [SEP] are of the text in which they stand.
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
struct EnumNames<Pooling> {
  static constexpr std::array names{
      std::pair{Pooling::cls, std::string_view("cls")}, std::pair{Pooling::last, std::string_view("last")},
      std::pair{Pooling::mean, std::string_view("mean")}, std::pair{Pooling::attention, std::string_view("attention")},
      std::pair{Pooling::alignment, std::string_view("alignment")}};
};

// `deviation`: of initial weights where the pooler is BERT's own.
std::shared_ptr<PoolingImpl> make_pooling(Pooling pooling, std::int64_t width, double deviation);

}  // namespace attend
