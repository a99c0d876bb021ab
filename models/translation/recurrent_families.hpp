// The families of recurrent models: attention after the step, before it, and none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/translation/recurrent_seq2seq.hpp"

namespace attend {

// The recurrent encoder-decoder with attention of Luong et al. 2015 (arXiv 1508.04025): step, then attend, and feed the
// attentional vector back. The encoder is bidirectional (Bahdanau et al. 2014) by default; the paper's reads the source
// in reverse.
//
//   decoder   h_t = stack of recurrent layers over [e_t; h~_{t-1}], h~_0 = 0     (3.3, input feeding)
//   attention a_t(s) = softmax_s(score(h_t, h_s)),  c_t = Σ_s a_t(s) h_s          (eq. 7)
//   output    h~_t = tanh(W_c [c_t; h_t]),  p = softmax(W_s h~_t)                 (eq. 5, 6)
//
// W_s is the table of target embeddings. Dropout is applied to the embeddings of both sides, between layers, to the
// fed-back h~_{t-1}, and to [c_t; h_t] before W_c.
class LuongImpl : public RecurrentSeq2SeqImpl {
 public:
  LuongImpl(const RecurrentConfig& config, Attention attention, bool input_feeding);

 private:
  // The places of dropout: on h~_{t-1}, on [c_t; h_t], and between layers l and l + 1.
  static constexpr std::size_t kFeed = 0, kCombine = 1, kLayer = 2;

  torch::Tensor advance(const torch::Tensor& embedded_RE, RecurrentState& state, const StepDropout& dropout,
                        Pass& pass) const override;
  std::vector<std::int64_t> dropout_widths() const override {
    return {config_.width, config_.memory_width() + config_.width};
  }
  torch::Tensor fused(const torch::Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                      std::span<const DropoutPlace> places) const override;

  bool input_feeding_;
  Linear combine_ = nullptr;  // W_c
};

// The recurrent encoder-decoder with attention of Bahdanau et al. 2014 (arXiv 1409.0473): attend with the previous
// state, then step with the context vector; the read-out is a maxout layer (A.2.2).
//
//   start     s_0 = tanh(W_s h←_1)                  h←_1: the final state of the encoder's backward reading
//   attention c_i = Σ_j a_ij h_j,  a_i = softmax_j(score(s_{i-1}, h_j))
//   decoder   s_i = stack of recurrent layers over [e_{i-1}; c_i]
//   read-out  t~_i = U_o s_{i-1} + V_o e_{i-1} + C_o c_i + b,  t_i = (max(t~_i,2j-1, t~_i,2j))_j,
//             p = softmax(W_o t_i)
//
// s_{i-1} is the state of the top layer. W_o is the table of target embeddings. Dropout is applied to the embeddings of
// both sides, between layers, to c_i as input of the decoder, and to t_i.
class BahdanauImpl : public RecurrentSeq2SeqImpl {
 public:
  BahdanauImpl(const RecurrentConfig& config, Attention attention);

 private:
  // The places of dropout: on c_i, on t_i, and between layers l and l + 1.
  static constexpr std::size_t kContext = 0, kReadout = 1, kLayer = 2;

  torch::Tensor bridged(const std::vector<CellState>& last, std::size_t layer, std::size_t part) const override;
  // t_i, [R, H].
  torch::Tensor read_out(const torch::Tensor& query_RH, const torch::Tensor& embedded_RE,
                         const torch::Tensor& context_RW) const;
  torch::Tensor advance(const torch::Tensor& embedded_RE, RecurrentState& state, const StepDropout& dropout,
                        Pass& pass) const override;
  std::vector<std::int64_t> dropout_widths() const override { return {config_.memory_width(), config_.width}; }
  torch::Tensor fused(const torch::Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                      std::span<const DropoutPlace> places) const override;

  Linear readout_ = nullptr;  // [U_o V_o C_o] and b
};

// The recurrent encoder-decoder without attention: the decoder sees the source only as one vector c, the final hidden
// state of the encoder's top layer.
//
//   once      (Sutskever et al. 2014, arXiv 1409.3215) c gives the decoder's start states, by an affine map for each
//   every     (Cho et al. 2014, arXiv 1406.1078) c also enters every step and its read-out
//
//   decoder   h_t = stack of recurrent layers over e_t, or [e_t; c]
//   output    h~_t = tanh(W_c h_t), or tanh(W_c [c; h_t]),  p = softmax(W_s h~_t)
//
// W_s is the table of target embeddings. Dropout is applied to the embeddings of both sides, between layers, and before
// W_c.
class FixedImpl : public RecurrentSeq2SeqImpl {
 public:
  FixedImpl(const RecurrentConfig& config, ContextUse use);

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
  Linear combine_;  // W_c
};

}  // namespace attend
