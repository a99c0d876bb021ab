// --watch: statistics of one update by layer, for the log.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/layers/pass.hpp"

namespace attend {

// The distance of hidden states [M, H] from rank one, ‖X − 1xᵀ‖ / ‖X‖ in Frobenius norms, where x is the mean over the
// tokens of a sentence; averaged over sentences, a scalar. 0 if all tokens of a sentence are equal (Dong et al. 2021,
// arXiv 2103.03404, who use another norm).
torch::Tensor rank_one_distance(const torch::Tensor& x_MH, const Layout& layout);

// The effective rank of a matrix: exp of the entropy of its singular values, normalised to a sum of 1 (Roy and Vetterli
// 2007). A scalar, from 1 to the smaller dimension; 0 for a matrix of zeros.
torch::Tensor effective_rank(const torch::Tensor& matrix);

// The number of sentences in a watched forward pass: the first 16, or fewer, but at least one, to keep to 1,024 tokens.
std::int64_t num_watched(const Layout& layout);

// Statistics of one update, named QUANTITY/PLACE.LAYER; docs/formats.md lists them.
//
//   loss.backward();
//   Watch watch(model);                 // gradients before clipping; copies the weights
//   optimiser.step(rate, norm);
//   watch.update_made();
//   Pass pass = watch.pass(src, tgt);   // the layouts of num_watched() sentences; no dropout
//   model.forward(sentences, pass);
//   log.write("watch", step, watch.values());
//
// It draws no random numbers and does not change training.
class Watch final : public Observer {
 public:
  explicit Watch(const torch::nn::Module& model);

  void update_made();

  // An inference pass with this observer. `encoder` is the layout of the encoder's tokens, `decoder` that of the
  // queries of decoder and cross-attention.
  Pass pass(const Layout& encoder, const Layout& decoder = {});
  void on_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) override;
  void on_hidden(AttentionPlace place, std::int64_t layer, const torch::Tensor& x_MH) override;
  void on_sub_layer(AttentionPlace place, std::int64_t layer, std::string_view sub_layer, const torch::Tensor& x_MH,
                    const torch::Tensor& output_MH) override;

  // Names and values; the names live as long as this object. A quotient by zero is not finite.
  std::vector<std::pair<std::string_view, double>> values() const;

 private:
  // The parameters of a layer, or of a module outside the layers.
  struct Part {
    std::vector<torch::Tensor> parameters, before;
    bool in_stack = false;
  };

  void note(std::string name, const torch::Tensor& scalar);
  const Layout& layout_of(AttentionPlace place) const { return place == AttentionPlace::encoder ? encoder_ : decoder_; }

  std::map<std::string, Part> parts_;  // by name
  Layout encoder_, decoder_;
  std::vector<std::string> names_;
  std::vector<torch::Tensor> numbers_;  // fp64 scalars, on the device until they are read
};

}  // namespace attend
