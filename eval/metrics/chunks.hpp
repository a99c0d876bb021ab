// Named entities and other chunks: tags of sentences to chunks, and their precision, recall and F1 over a corpus, as
// seqeval computes them (Nakayama 2018), in its default way (that of conlleval: an I- begins a chunk where none of its
// type is open) and in its strict one (IOB2: only a B- does).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attend::metrics {

enum class ChunkMode { conlleval, strict };

struct Chunk {
  std::string type;
  std::size_t begin = 0, end = 0;  // tags begin … end - 1 of the sentence
  auto operator<=>(const Chunk&) const = default;
};

// Of the tags of one sentence, such as B-PER I-PER O; B, I, E, S and O are understood.
std::vector<Chunk> chunks_of(const std::vector<std::string>& tags, ChunkMode mode);

// Chunks predicted, in the gold data, and in both.
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
  // Those of another tally of the same mode.
  void add(const ChunkTally& other);

  const Counts& total() const { return total_; }
  double token_accuracy() const;  // O among them

 private:
  ChunkMode mode_;
  Counts total_;
  std::size_t tokens_ = 0, equal_tokens_ = 0;
};

}  // namespace attend::metrics
