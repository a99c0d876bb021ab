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
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/translation/recurrent_seq2seq.hpp"

namespace attend {

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

}  // namespace attend
