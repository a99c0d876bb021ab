// The recurrent encoder-decoder without attention: the decoder sees the source only as one vector c, the final hidden
// state or LSTM cell state of the encoder's top layer.
//
//   once      (Sutskever et al. 2014, arXiv 1409.3215) c gives the decoder's start states, by an affine map for each
//   every     (Cho et al. 2014, arXiv 1406.1078) c also enters every step and its read-out
//
//   decoder   h_t = stack of recurrent layers over e_t, or [e_t; c]
//   output    h~_t = tanh(W_c h_t), or tanh(W_c [c; h_t]),  p = softmax(W_s h~_t)
//
// W_s is the table of target embeddings. Dropout is applied to the embeddings of both sides, between layers, and before
// W_c.
#pragma once

#include <span>
#include <vector>

#include "models/translation/recurrent_seq2seq.hpp"

namespace attend {

class FixedImpl : public RecurrentSeq2SeqImpl {
 public:
  FixedImpl(const RecurrentConfig& config, ContextUse use, StateKind from);

 private:
  // The places of dropout: before W_c, and between layers l and l + 1.
  static constexpr std::size_t kCombine = 0, kLayer = 1;

  void prepare(const RecurrenceOutput& read, RecurrentMemory& memory) const override;
  torch::Tensor bridged(const std::vector<CellState>& last, std::size_t layer, std::size_t part) const override;
  torch::Tensor advance(const torch::Tensor& embedded_RE, RecurrentState& state, const StepDropout& dropout,
                        Pass& pass) const override;
  std::vector<std::int64_t> dropout_widths() const override { return {combine_->weight.master().size(1)}; }
  torch::Tensor fused(const torch::Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                      std::span<const DropoutPlace> places) const override;

  ContextUse use_;
  StateKind from_;
  Linear combine_;  // W_c
};

}  // namespace attend
