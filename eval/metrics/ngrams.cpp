#include "eval/metrics/ngrams.hpp"

#include <algorithm>
#include <bit>

namespace attend::metrics {

std::vector<std::uint32_t> WordIds::of(std::span<const std::string_view> words) {
  std::vector<std::uint32_t> ids;
  ids.reserve(words.size());
  for (const std::string_view word : words) {
    ids.push_back(ids_.try_emplace(word, static_cast<std::uint32_t>(ids_.size())).first->second);
  }
  return ids;
}

NgramTrie::NgramTrie(int max_order) : max_order_(max_order), edges_(256), orders_(1) {}

void NgramTrie::count(std::span<const std::uint32_t> symbols, std::vector<std::uint32_t>& counts) {
  for (std::size_t start = 0; start < symbols.size(); ++start) {
    std::uint32_t node = 0;
    const std::size_t end = std::min(symbols.size(), start + static_cast<std::size_t>(max_order_));
    for (std::size_t at = start; at < end; ++at) {
      node = child(node, symbols[at]);
      if (node >= counts.size()) counts.resize(node + 1);
      ++counts[node];
    }
  }
  counts.resize(size());
}

std::uint32_t NgramTrie::child(std::uint32_t parent, std::uint32_t symbol) {
  const std::uint64_t key = static_cast<std::uint64_t>(parent) << 32 | symbol;
  Edge& edge = find(key);
  if (edge.child != 0) return edge.child;
  const auto node = static_cast<std::uint32_t>(orders_.size());
  edge = {key, node};
  orders_.push_back(static_cast<std::uint8_t>(orders_[parent] + 1));
  if (orders_.size() * 2 > edges_.size()) grow();
  return node;
}

// The edge of `key`, or the free slot where it belongs.
NgramTrie::Edge& NgramTrie::find(std::uint64_t key) {
  const std::size_t mask = edges_.size() - 1;
  // Multiplying by 2^64 / golden ratio spreads the key over the high bits.
  std::size_t at = (key * 0x9e3779b97f4a7c15u) >> (64 - std::countr_zero(edges_.size()));
  while (edges_[at].child != 0 && edges_[at].key != key) at = (at + 1) & mask;
  return edges_[at];
}

void NgramTrie::grow() {
  std::vector<Edge> old(edges_.size() * 4);
  old.swap(edges_);
  for (const Edge& edge : old) {
    if (edge.child != 0) find(edge.key) = edge;
  }
}

}  // namespace attend::metrics
