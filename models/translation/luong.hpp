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
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/translation/recurrent_seq2seq.hpp"

namespace attend {

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

}  // namespace attend
