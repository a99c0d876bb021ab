// The recurrent encoder-decoder with attention of Luong et al. 2015 (arXiv 1508.04025): global attention with the
// general score, input feeding, and an encoder that reads both ways (Bahdanau et al. 2014), or one way (the paper's
// reads the source in reverse).
//
//   encoder   h_s = LSTM stack over the source; each direction has the model's width
//   bridge    decoder layer l starts from where encoder layer l stopped (or the top one, if the decoder is deeper):
//             hidden tanh(W h + b), cell W c + b; the paper copies, which one direction of equal width would allow
//   decoder   h_t = LSTM stack([e_t; h~_{t-1}]), h~_0 = 0
//   attention c_t = Σ_s softmax_s(h_tᵀ W_a h_s) h_s              (eq. 7, 8)
//   output    h~_t = tanh(W_c [c_t; h_t]), p = softmax(W_s h~_t)  (eq. 5, 6), W_s the table of target embeddings
//
// The table starts small, as an output layer wants it, so embeddings are read times sqrt(E), as in arXiv 1706.03762,
// 3.4: the gates and the scores would otherwise begin near zero, and learning takes several times as long.
//
// Dropout falls on the embeddings of both sides, between layers, on the fed-back h~_{t-1} and on [c_t; h_t] before W_c.
//
// Legend: as seq2seq.hpp; E = H = the model's width, V width of the memory in attention, vocabulary elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/attention/general.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/recurrent.hpp"
#include "models/translation/config.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

struct RnnSeq2SeqConfig {
  std::int64_t src_vocabulary = 0;
  std::int64_t tgt_vocabulary = 0;  // where embeddings are tied, of the same size
  std::int64_t width = 256;
  std::int64_t encoder_layers = 1;
  std::int64_t decoder_layers = 1;
  bool bidirectional = true;
  bool input_feeding = true;
  bool tie_embeddings = true;  // one table for both sides; the output always reads the target's
  double dropout = 0;
};

class RnnSeq2SeqImpl : public Seq2SeqImpl {
 public:
  RnnSeq2SeqImpl(const RnnSeq2SeqConfig& config, std::shared_ptr<GeneralAttention> attention);

  std::shared_ptr<const Memory> encode(const Sequences& src, Pass& pass) const override;
  std::unique_ptr<DecoderState> start(const Memory& memory, std::span<const std::int64_t> sentences) const override;
  torch::Tensor step(const Memory& memory, DecoderState& state, const torch::Tensor& previous_R,
                     Pass& pass) const override;
  torch::Tensor forward(const Batch& batch, Pass& pass) const override;
  OutputHead output_head() const override { return {tgt_embedding_->weight, no_bias_}; }

 private:
  RnnSeq2SeqConfig config_;
  double embedding_scale_;
  Embedding src_embedding_ = nullptr;  // where tied, the target's
  Embedding tgt_embedding_ = nullptr;
  Lstm encoder_ = nullptr;
  std::vector<Linear> bridge_hidden_;  // one a decoder layer
  std::vector<Linear> bridge_cell_;
  std::shared_ptr<GeneralAttention>
      attention_;  // dot products with prepared keys, as ops::attention_decoder makes them
  Lstm decoder_ = nullptr;
  Linear combine_ = nullptr;  // W_c
  torch::Tensor no_bias_;
};

}  // namespace attend
