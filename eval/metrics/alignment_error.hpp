// The alignment error rate of Och and Ney 2003 (A Systematic Comparison of Various Statistical Alignment Models,
// section 6, eq. 33 and 34), of links A against sure links S and possible links P, of which S is a part:
//
//   precision = |A ∩ P| / |A|,  recall = |A ∩ S| / |S|,  AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
//
//   gold "0-0 1-1 1?2", links "0-0 1-2 2-1":  precision 2/3, recall 1/2, AER = 1 - (1 + 2) / (3 + 2) = 0.4
//
// Counts are summed over the sentences of a corpus. Not included: links to the empty word.
#pragma once

#include <cstdint>
#include <vector>

#include "data/text/word_alignment.hpp"

namespace attend::metrics {

class AlignmentTally {
 public:
  // The links of one sentence pair, sorted and without duplicates as in SentenceLinks.
  void add(const std::vector<Link>& links, const SentenceLinks& gold);

  std::int64_t links() const { return links_; }        // |A|
  std::int64_t sure() const { return sure_; }          // |S|
  std::int64_t possible() const { return possible_; }  // |P|

  // In percent. Without links precision is 0; without sure links recall is 0; without either the error rate is 0.
  double precision() const;
  double recall() const;
  double error_rate() const;

 private:
  std::int64_t links_ = 0;
  std::int64_t sure_ = 0;
  std::int64_t possible_ = 0;
  std::int64_t right_and_sure_ = 0;      // |A ∩ S|
  std::int64_t right_and_possible_ = 0;  // |A ∩ P|
};

}  // namespace attend::metrics
