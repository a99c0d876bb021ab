// Named entities and other chunks: tags of sentences to chunks, and their precision, recall and F1 over a corpus, as
// seqeval computes them (Nakayama 2018), in its default way (that of conlleval: an I- begins a chunk where none of its
// type is open) and in its strict one (IOB2: only a B- does).
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"

namespace attend::metrics {

enum class ChunkMode { conlleval, strict };

struct Chunk {
  std::string type;
  std::size_t begin = 0, end = 0;  // tags begin … end - 1 of the sentence
  auto operator<=>(const Chunk&) const = default;
};

// Of the tags of one sentence, such as B-PER I-PER O; B, I, E, S and O are understood.
std::vector<Chunk> chunks_of(const std::vector<std::string>& tags, ChunkMode mode);

// Chunks predicted, in the gold data, and in both, by type.
class ChunkTally {
 public:
  struct Counts {
    std::size_t predicted = 0, gold = 0, both = 0;
    double precision() const;  // 0 where nothing is predicted
    double recall() const;
    double f1() const;
  };

  explicit ChunkTally(ChunkMode mode) : mode_(mode) {}
  // The tags of one sentence, as many on both sides.
  void add(const std::vector<std::string>& predicted, const std::vector<std::string>& gold);

  Counts total() const;
  const std::map<std::string, Counts>& by_type() const { return counts_; }
  double token_accuracy() const;  // O among them

 private:
  ChunkMode mode_;
  std::map<std::string, Counts> counts_;
  std::size_t tokens_ = 0, equal_tokens_ = 0;
};

}  // namespace attend::metrics

template <>
struct attend::EnumNames<attend::metrics::ChunkMode> {
  static constexpr std::array names{std::pair{metrics::ChunkMode::conlleval, std::string_view("conlleval")},
                                    std::pair{metrics::ChunkMode::strict, std::string_view("strict")}};
};
