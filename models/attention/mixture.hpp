// A mixture of a Synthesizer and attention (Tay et al. 2020, arXiv 2005.00743, section 3, mixtures): the energies are
// α1 times the Synthesizer's plus α2 times those of attention, where (α1 α2) is the softmax of two learnt numbers of
// every head, which start equal. A dense Synthesizer shares the queries of attention.
//
//   energies (0 2) and (1 0), equal numbers:  0.5 (0 2) + 0.5 (1 0) = (0.5 1), weights 0.38, 0.62
#pragma once

#include <memory>
#include <utility>

#include "models/attention/score.hpp"

namespace attend {

class MixtureScore : public Score {
 public:
  // `synthesizer` must not read keys.
  MixtureScore(std::int64_t heads, std::shared_ptr<Score> synthesizer, std::shared_ptr<Score> attention)
      : synthesizer_(register_module("synthesizer", std::move(synthesizer))),
        attention_(register_module("attention", std::move(attention))),
        mixture_(register_parameter("mixture", torch::empty({2 * heads}))) {}

  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return attention_->prepare(memory_SW); }
  bool keeps_prepared_keys() const override { return attention_->keeps_prepared_keys(); }
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& places) const override {
    const torch::Tensor shares_2N = torch::softmax(mixture_.view({2, -1}), 0);
    return factor_of_heads(shares_2N[0]) * synthesizer_->energies(queries_TH, keys_SA, places) +
           factor_of_heads(shares_2N[1]) * attention_->energies(queries_TH, keys_SA, places);
  }
  void initialise(RandomStream& /*random*/) override {
    const torch::NoGradGuard no_grad;
    mixture_.zero_();
  }

 private:
  std::shared_ptr<Score> synthesizer_;
  std::shared_ptr<Score> attention_;
  torch::Tensor mixture_;  // [2N]: the Synthesizer's numbers, then those of attention
};

}  // namespace attend
