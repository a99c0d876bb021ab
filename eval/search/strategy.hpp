// A strategy chooses the continuations of a sentence's hypotheses that live on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "eval/search/config.hpp"
#include "eval/search/hypothesis.hpp"
#include "eval/search/next_tokens.hpp"

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

// `parent`, a row of the last step, continued by a token; eos is scored but not appended.
Live continued(const Live& parent, std::int64_t row, const NextToken& token, const TargetIds& ids);

// A complete hypothesis with its ranking criterion: score / lp(|y|), plus the coverage penalty.
Hypothesis completed(Live live, bool ended, const SearchConfig& config);

}  // namespace attend
