// Exact n-gram counts. An n-gram is a path in a trie, so it is identified by a small number, and all orders are counted
// in one pass.
//
//   NgramTrie trie(4);
//   std::vector<std::uint32_t> counts;
//   trie.count(words, counts);            // counts[node]: how often the n-gram of `node` occurs in `words`
//   trie.order(node)                      // its length
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attend::metrics {

// Numbers words from 0 in order of first occurrence. The words must outlive it.
class WordIds {
 public:
  std::vector<std::uint32_t> of(std::span<const std::string_view> words);

 private:
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

// All n-grams of orders 1 to max_order of the sequences counted so far. Node 0 is the root, the empty n-gram.
class NgramTrie {
 public:
  explicit NgramTrie(int max_order);

  // Adds the n-grams of `symbols` to `counts`, which is indexed by node and grows to size().
  void count(std::span<const std::uint32_t> symbols, std::vector<std::uint32_t>& counts);

  std::size_t size() const { return orders_.size(); }
  int order(std::size_t node) const { return orders_[node]; }

 private:
  struct Edge {
    std::uint64_t key = 0;    // parent << 32 | symbol
    std::uint32_t child = 0;  // 0: free, for the root is nobody's child
  };
  std::uint32_t child(std::uint32_t parent, std::uint32_t symbol);
  Edge& find(std::uint64_t key);
  void grow();

  int max_order_;
  std::vector<Edge> edges_;  // open addressing; the size is a power of two
  std::vector<std::uint8_t> orders_;
};

}  // namespace attend::metrics
