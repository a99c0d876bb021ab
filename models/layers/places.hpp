// The positions of queries and keys in their sentences, for attention.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace attend {

// T queries and S positions; axes of size 1 are broadcast.
struct Places {
  torch::Tensor padding_1S;      // [..., 1, S]: true after the end of a sentence
  std::int64_t first = 0;        // query t is number `first + t` of its sentence,
  torch::Tensor chosen_T1 = {};  // or, if this is defined, number chosen_T1[..., t, 0]
  torch::Tensor hidden_TS = {};  // [..., T, S]: true where a query may not attend, in any scope; undefined: nowhere

  torch::Tensor lengths_11() const { return padding_1S.logical_not().sum(-1, true); }  // [..., 1, 1]
  torch::Tensor positions_S() const {
    return torch::arange(padding_1S.size(-1), padding_1S.options().dtype(torch::kLong));
  }
  // The numbers of `count` queries, [..., T, 1].
  torch::Tensor numbers_T1(std::int64_t count) const {
    if (chosen_T1.defined()) return chosen_T1;
    return torch::arange(first, first + count, padding_1S.options().dtype(torch::kLong)).unsqueeze(1);
  }
  // The distance j - i from each of `count` queries i to each position j, [..., T, S].
  torch::Tensor distances_TS(std::int64_t count) const { return positions_S() - numbers_T1(count); }
};

}  // namespace attend
