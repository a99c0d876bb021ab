// Fixed patterns (Raganato et al. 2020, arXiv 2002.10260, section 3): the first heads attend to positions independently
// of the tokens; only the others have queries and keys, whose score is learnt. In a sentence of n tokens, the weight of
// position j for query i (both from 0) is proportional to
//
//   1  current token   1 at j = i                  4  left context    (j + 1)³ at j <= i - 2
//   2  previous token  1 at j = i - 1              5  right context   (n - j)³ at j >= i + 2
//   3  next token      1 at j = i + 1              6  end, 7  start   (j + 1)³, (n - j)³ everywhere
//
// Where a pattern would be empty, it attends to the first token (previous, left) or the last one (next, right). Of N
// heads, the first min(N - 1, 7) have patterns. The energies are the logarithms of these weights; a scope may shift
// them in all heads.
//
//   the third of four tokens:
//     (0 0 1 0), (0 1 0 0), (0 0 0 1), (1 0 0 0), (0 0 0 1), (1 8 27 64) / 100, (64 27 8 1) / 100
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "models/attention/score.hpp"

namespace attend {

inline constexpr std::int64_t kPatterns = 7;

class PatternScore : public Score {
 public:
  // `learnt`: the score of the heads after the `fixed` ones.
  PatternScore(std::int64_t fixed, std::shared_ptr<Score> learnt)
      : fixed_(fixed), learnt_(register_module("learnt", std::move(learnt))) {}

  torch::Tensor prepare(const torch::Tensor& memory_SW) const override {
    return learnt_->prepare(of_learnt(memory_SW));
  }
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& places) const override {
    const torch::Tensor learnt_TS = learnt_->energies(of_learnt(queries_TH), keys_SA, places);
    std::vector<torch::Tensor> heads = patterns(places, queries_TH.size(-2));
    heads.resize(static_cast<std::size_t>(fixed_));
    for (torch::Tensor& head : heads) head = head.expand_as(learnt_TS.narrow(-3, 0, 1));
    heads.push_back(learnt_TS);
    return torch::cat(heads, -3);
  }

 private:
  static constexpr double kNever = -1e30;  // energy of positions with weight 0

  torch::Tensor of_learnt(const torch::Tensor& x) const { return x.narrow(-3, fixed_, x.size(-3) - fixed_); }

  static std::vector<torch::Tensor> patterns(const Places& places, std::int64_t count) {
    const torch::Tensor j_S = places.positions_S(), i_T1 = places.numbers_T1(count);
    const torch::Tensor last_11 = places.lengths_11() - 1;
    const auto cubes = [](const torch::Tensor& number) { return 3 * number.clamp_min(1).to(torch::kFloat).log(); };
    const torch::Tensor towards_end = cubes(j_S + 1), towards_start = cubes(last_11 + 1 - j_S);
    const auto only = [](const torch::Tensor& at_TS, const torch::Tensor& energies) {
      return energies.masked_fill(at_TS.logical_not(), kNever);
    };
    const torch::Tensor one = torch::zeros_like(towards_end);
    return {only(j_S.eq(i_T1), one),
            only(j_S.eq((i_T1 - 1).clamp_min(0)), one),
            only(j_S.eq(torch::minimum(i_T1 + 1, last_11)), one),
            only(j_S.le((i_T1 - 2).clamp_min(0)), towards_end),
            only(j_S.ge(torch::minimum(i_T1 + 2, last_11)), towards_start),
            towards_end,
            towards_start};
  }

  std::int64_t fixed_;
  std::shared_ptr<Score> learnt_;
};

}  // namespace attend
