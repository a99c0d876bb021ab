// The fast path of additive_energies: one work item per head of a sentence (kernels/query.hpp).
#include "models/ops/kernels/query.hpp"

#include <vector>

#include "models/ops/fast/support.hpp"

namespace attend::ops::fast {
namespace {

// The operands, contiguous; the axes before the last two are one.
struct Operands {
  Tensor queries_GTA, keys_GSA, energy_NA;

  Chunks chunks() const { return {queries_GTA.size(0), queries_GTA.size(1) * keys_GSA.size(1) * queries_GTA.size(2)}; }
  kernels::AdditiveScores kernel(const Tensor& scores_GTS) const {
    return {.queries = queries_GTA.size(1),
            .keys = keys_GSA.size(1),
            .width = queries_GTA.size(2),
            .heads = energy_NA.size(0),
            .query = read<float>(queries_GTA),
            .key = read<float>(keys_GSA),
            .energy = read<float>(energy_NA),
            .scores = write<float>(scores_GTS)};
  }
};

Tensor compute_energies(const Operands& operands) {
  const Tensor &queries = operands.queries_GTA, &keys = operands.keys_GSA;
  const Tensor scores_GTS = at::empty({queries.size(0), queries.size(1), keys.size(1)}, queries.options());
  operands.chunks().run([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    kernels::additive_scores(operands.kernel(scores_GTS), begin, end);
  });
  return scores_GTS;
}

class AdditiveFunction : public torch::autograd::Function<AdditiveFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& queries_GTA, const Tensor& keys_GSA,
                        const Tensor& energy_NA) {
    context->save_for_backward({queries_GTA, keys_GSA, energy_NA});
    return compute_energies({queries_GTA, keys_GSA, energy_NA});
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Operands operands{saved[0], saved[1], saved[2]};
    const Tensor dscores = gradients[0].contiguous();
    const Tensor dqueries = at::empty_like(operands.queries_GTA), dkeys = at::zeros_like(operands.keys_GSA);
    const Chunks chunks = operands.chunks();
    const Tensor denergies = chunks.partial_sums(operands.energy_NA.numel());
    chunks.run([&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
      kernels::additive_scores_backward({.of = operands.kernel({}),
                                         .score_gradients = read<float>(dscores),
                                         .query_gradient = write<float>(dqueries),
                                         .key_gradient = write<float>(dkeys),
                                         .energy_gradient = rows<float>(denergies).row(chunk)},
                                        begin, end);
    });
    return {dqueries, dkeys, chunks.total(denergies).view_as(operands.energy_NA)};
  }
};

}  // namespace

Tensor additive_energies(const Tensor& queries_TA, const Tensor& keys_SA, const Tensor& energy_NA) {
  std::vector<std::int64_t> shape = queries_TA.sizes().vec();
  shape.back() = keys_SA.size(-2);
  const std::int64_t groups = c10::multiply_integers(shape.begin(), shape.end() - 2);
  const auto grouped = [&](const Tensor& x) { return x.reshape({groups, x.size(-2), x.size(-1)}).contiguous(); };
  const Tensor queries = grouped(queries_TA), keys = grouped(keys_SA), energy = energy_NA.contiguous();
  const Tensor scores_GTS = wants_gradient(queries, keys, energy) ? AdditiveFunction::apply(queries, keys, energy)
                                                                  : compute_energies({queries, keys, energy});
  return scores_GTS.view(shape);
}

}  // namespace attend::ops::fast
