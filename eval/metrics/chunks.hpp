// Named entities and other chunks: extracts chunks from tags and computes precision, recall and F1 over a corpus as
// seqeval does (Nakayama 2018) in its default mode, as conlleval: an I- without an open chunk of its type starts one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attend::metrics {

// Counts of predicted chunks, gold chunks, and chunks in both.
class ChunkTally {
 public:
  struct Counts {
    std::size_t predicted = 0, gold = 0, both = 0;
    double precision() const;  // 0 if nothing is predicted
    double recall() const;
    double f1() const;
  };

  // Adds the tags of one sentence, the same number on both sides.
  void add(const std::vector<std::string>& predicted, const std::vector<std::string>& gold);
  // Adds another tally.
  void add(const ChunkTally& other);

  const Counts& total() const { return total_; }
  double token_accuracy() const;  // including O

 private:
  Counts total_;
  std::size_t tokens_ = 0, equal_tokens_ = 0;
};

}  // namespace attend::metrics
