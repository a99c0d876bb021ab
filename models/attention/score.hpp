// A score rates how well each position matches a query: the first part of attention (score, scope, choice). Each kind
// of score is a class (scores.hpp, synthesizers.hpp). Scores accept any leading axes: a step of a recurrent decoder has
// one query per row; a Transformer has all queries of a sentence, with heads as another axis.
//
// Legend: docs/architecture.md; "..." are the leading axes, rows [R] or sentences and heads [B, N].
#pragma once

#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "models/layers/layers.hpp"
#include "models/layers/pass.hpp"
#include "models/ops/attention.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

// A function of the vectors of N heads, fp32 [N, M, I] to [N, M, O], of rows [M, N * I]: [M, N * O].
template <class Function>
torch::Tensor by_heads(const torch::Tensor& x_MI, std::int64_t heads, const Function& function) {
  return function(x_MI.to(torch::kFloat).unflatten(1, {heads, -1}).transpose(0, 1)).transpose(0, 1).flatten(1);
}

// A linear map without bias for every head: from x [..., N, S, I] to [..., N, S, O] by N matrices [O, I], stacked in
// one weight [N * O, I]. With one head, x has no axis of heads, and the map equals `Linear`.
class HeadLinearImpl : public LinearImpl {
 public:
  HeadLinearImpl(std::int64_t heads, std::int64_t in, std::int64_t out, double deviation = 0)
      : LinearImpl({.in = in, .out = heads * out, .bias = false, .fused = heads, .deviation = deviation}),
        heads_(heads) {}

  torch::Tensor forward(const torch::Tensor& x_SI) const {
    if (heads_ == 1) return LinearImpl::forward(x_SI);
    return torch::matmul(x_SI, matrices_NOI().to(x_SI.scalar_type()).transpose(1, 2));
  }

  // The same of rows, in fp32: from x [M, N * I] to [M, N * O].
  torch::Tensor of_rows(const torch::Tensor& x_MI) const {
    return by_heads(x_MI, heads_, [&](const torch::Tensor& x_NMI) { return forward(x_NMI); });
  }
  // The product with the transposed matrices, in fp32: from y [M, N * O] to [M, N * I].
  torch::Tensor transposed(const torch::Tensor& y_MO) const {
    return by_heads(y_MO, heads_, [&](const torch::Tensor& y_NMO) {
      return torch::matmul(y_NMO, weight.master().unflatten(0, {heads_, -1}));
    });
  }

  // [N, O, I], or [O, I] of one head, fp32.
  torch::Tensor matrices_NOI() const {
    return heads_ == 1 ? weight.master() : weight.master().unflatten(0, {heads_, -1});
  }

 private:
  std::int64_t heads_;
};
TORCH_MODULE(HeadLinear);

// One number per head, [N], in the shape of a factor of energies [..., N, T, S], or of [..., T, S] with one head.
inline torch::Tensor factor_of_heads(const torch::Tensor& numbers_N) {
  return numbers_N.size(0) == 1 ? numbers_N : numbers_N.view({-1, 1, 1});
}

// The sizes of a score. Each of several heads has its own parameters.
struct ScoreWidths {
  std::int64_t heads = 1;
  std::int64_t query_width = 0;
  std::int64_t memory_width = 0;
  std::int64_t longest = 0;  // rows for positions, in the location score and Synthesizers
  double deviation = 0;      // standard deviation of initial weights of linear maps; 0: Xavier's rule
};

// Linear maps and tables are named by their input, from which analysis/cost.hpp counts their cost: `key` reads the
// memory, `energy` pairs of a query and a position, all others the queries.
class Score : public Layer {
 public:
  // Prepares the keys once per sentence, as far as they do not depend on the query: memory [..., S, W] to [..., S, A].
  virtual torch::Tensor prepare(const torch::Tensor& memory_SW) const = 0;

  // The energy of each query [..., T, H] at each position of its sentence, keys [..., S, A] in fp32: [..., T, S], fp32.
  // Positions after the end of a shorter sentence are ignored.
  virtual torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                                 const Places& places) const = 0;

  // The factor that the energies of each head contain, [N] or [1], for those who explain them; undefined: none.
  virtual torch::Tensor scale(const torch::Tensor& /*keys_SA*/) const { return {}; }

  // The context vectors [..., T, W] of whole sentences, from values [..., S, W] in fp32, without computing the weights;
  // nullopt if that would cost more. `padding_1S` as in Places.
  virtual std::optional<torch::Tensor> context(const torch::Tensor& /*queries_TH*/, const torch::Tensor& /*keys_SA*/,
                                               const torch::Tensor& /*values_SW*/,
                                               const torch::Tensor& /*padding_1S*/) const {
    return std::nullopt;
  }

  // True if decoding should keep prepared keys rather than those of the model, because it would prepare them at every
  // step. Then only steps have a fused form of heads, and there must be a key for each of them.
  virtual bool keeps_prepared_keys() const { return false; }

  // Adds this score to the `form` of fused ops (ops/recurrent.hpp); false if they do not support it.
  virtual bool describe(ops::AttentionForm& /*form*/) const { return false; }
  // The energy in the fused attention of heads (ops/attention.hpp); nullopt if it does not support this score.
  virtual std::optional<ops::HeadEnergy> head_energy() const { return std::nullopt; }
  // The queries that it reads, as wide as the keys: the argument itself if unchanged. Energies may lack a term that
  // all keys of a query share.
  virtual torch::Tensor fused_queries(const torch::Tensor& queries_MH) const { return queries_MH; }

  // Overridden by scores with parameters outside linear maps.
  void initialise(RandomStream& /*random*/) override {}

 protected:
  HeadLinear add_map(const char* name, const ScoreWidths& config, std::int64_t in, std::int64_t out) {
    return register_module(name, HeadLinear(config.heads, in, out, config.deviation));
  }

  // [..., T, S], of scores that do not compare vectors.
  static std::vector<std::int64_t> shape_of_energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA) {
    std::vector<std::int64_t> shape = queries_TH.sizes().vec();
    shape.back() = keys_SA.size(-2);
    return shape;
  }
};

// A score that reads no keys: theirs have one column, only for the number of positions.
class KeylessScore : public Score {
 public:
  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return memory_SW.detach().narrow(-1, 0, 1); }
};

}  // namespace attend
