// The overlap of two bags (multisets) of words or n-grams.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace attend::metrics {

template <class Member>
std::size_t num_shared(std::vector<Member> a, std::vector<Member> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::vector<Member> shared;
  std::ranges::set_intersection(a, b, std::back_inserter(shared));
  return shared.size();
}

// The F1 of bags of these sizes with `shared` common members.
inline double f1_of(std::size_t shared, std::size_t predicted, std::size_t gold) {
  if (shared == 0) return 0;
  const double precision = static_cast<double>(shared) / static_cast<double>(predicted);
  const double recall = static_cast<double>(shared) / static_cast<double>(gold);
  return 2 * precision * recall / (precision + recall);
}

}  // namespace attend::metrics
