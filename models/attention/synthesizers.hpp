// Self-attention without a score of queries against keys: Synthesizers and fixed patterns.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "models/attention/score.hpp"

namespace attend {

// The dense Synthesizer (Tay et al. 2020, arXiv 2005.00743, section 3.1): the energies of a query depend on its own
// token alone, energies_t = W2 relu(q_t), q_t = W1 x_t + b1. Every head has its own W1, which is the projection of
// queries, and its own W2, whose row s gives the energy of position s. W2 has L rows; the last one also serves all
// later positions. Keys are not read. Rotary positions, which would turn q_t, are not for its mixture with attention.
//
//   q_t = (1 -2), W2 = (0 1; 1 0; 2 0), three positions:  relu (1 0), energies 0, 1, 2, weights 0.09, 0.24, 0.67
class DenseSynthesizer : public KeylessScore {
 public:
  explicit DenseSynthesizer(const ScoreWidths& config)
      : longest_(config.longest), energy_(add_map("energy", config, config.query_width, config.longest)) {}

  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& /*keys_SA*/,
                         const Places& places) const override {
    const torch::Tensor rows_S = places.positions_S().clamp_max(longest_ - 1);
    const torch::Tensor own_SH = energy_->matrices_NOI().index_select(-2, rows_S);
    return torch::matmul(torch::relu(queries_TH.to(torch::kFloat)), own_SH.transpose(-2, -1));
  }

 private:
  std::int64_t longest_;
  HeadLinear energy_;  // W2, [N * L, H]
};

// The random Synthesizer (Tay et al. 2020, arXiv 2005.00743, section 3.2): the energy of query i at position j is the
// number R[i, j] of a table, independent of the tokens. Every head has its own table, which is initialised with
// standard normal numbers and is learnt (random) or stays fixed (fixed-random). The tables have L rows and columns; the
// last ones also serve all later positions. Neither queries nor keys are read.
//
//   R = (0 1; 2 0), the second query:  energies 2, 0, weights 0.88, 0.12

enum class TableUse { learnt, fixed };

class RandomSynthesizer : public KeylessScore {
 public:
  RandomSynthesizer(const ScoreWidths& config, TableUse use) {
    const torch::Tensor energy = torch::empty({config.heads, config.longest, config.longest});
    energy_NLL_ = use == TableUse::learnt ? register_parameter("energy", energy) : register_buffer("energy", energy);
  }

  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& places) const override {
    const std::int64_t length = energy_NLL_.size(1), last = length - 1;
    const torch::Tensor columns_S = places.positions_S().clamp_max(last);
    const torch::Tensor rows_T1 = places.numbers_T1(queries_TH.size(-2)).clamp_max(last);
    return ops::numbers_of_heads(energy_NLL_.flatten(1), rows_T1 * length + columns_S)
        .expand(shape_of_energies(queries_TH, keys_SA));
  }
  void initialise(RandomStream& random) override { fill_normal(energy_NLL_, 1, random); }
  ParameterTraits traits_of(const torch::Tensor& /*parameter*/) const override {
    return {.role = ParameterRole::table};
  }

 private:
  torch::Tensor energy_NLL_;  // R
};

// A mixture of a Synthesizer and attention (Tay et al. 2020, arXiv 2005.00743, section 3, mixtures): the energies are
// α1 times the Synthesizer's plus α2 times those of attention, where (α1 α2) is the softmax of two learnt numbers of
// every head, which start equal. A dense Synthesizer shares the queries of attention.
//
//   energies (0 2) and (1 0), equal numbers:  0.5 (0 2) + 0.5 (1 0) = (0.5 1), weights 0.38, 0.62
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
