// Strategies: which continuations of a sentence's hypotheses live on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "eval/search/hypothesis.hpp"
#include "eval/search/processors.hpp"
#include "eval/search/search.hpp"

namespace attend {

class Strategy {
 public:
  virtual ~Strategy() = default;

  // The hypotheses that a sentence begins with.
  virtual std::int64_t rows() const { return 1; }
  // How many of each row's best tokens `advance` reads (0: none), and whether it reads the scores of all tokens.
  virtual std::int64_t candidates() const = 0;
  virtual bool whole() const { return false; }

  // Continues a sentence by one token: replaces its live hypotheses, whose first row in `next` is `first_row`, by those
  // that live on, each with its parent, and moves complete ones to `finished`. Without live ones the sentence is done;
  // then at least one is finished.
  virtual void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const = 0;

  // The results for a sentence that is done, in the order in which they are returned.
  virtual std::vector<Hypothesis> results(OpenSentence sentence) const = 0;
};

// The strategy for the options and constraints. `config` and `ids` must outlive it.
std::unique_ptr<const Strategy> make_strategy(const SearchConfig& config, const TargetIds& ids,
                                              std::span<const Wanted> wanted);

// The number of tokens of the constraints that `ids` has not met.
std::int64_t missing_tokens(const std::vector<std::int32_t>& ids, const std::vector<PhraseIds>& constraints);

}  // namespace attend
