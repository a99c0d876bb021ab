#include "eval/batches.hpp"

#include <algorithm>
#include <numeric>

namespace attend {

std::vector<std::vector<std::size_t>> batches_of_lengths(
    std::span<const std::int64_t> lengths, std::int64_t most_sequences, std::int64_t most_cost,
    const std::function<std::int64_t(std::size_t first)>& cost_beside) {
  const auto cost = [&](std::size_t i, std::size_t first) { return cost_beside ? cost_beside(first) : lengths[i]; };
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return lengths[i]; });
  std::vector<std::vector<std::size_t>> batches;
  std::int64_t spent = 0;  // by the newest batch
  for (const std::size_t i : order) {
    if (batches.empty() || std::ssize(batches.back()) == most_sequences ||
        spent + cost(i, batches.back().front()) > most_cost) {
      batches.emplace_back();
      spent = 0;
    }
    batches.back().push_back(i);
    spent += cost(i, batches.back().front());
  }
  return batches;
}

}  // namespace attend
