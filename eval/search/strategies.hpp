// Strategies: which continuations of a sentence's hypotheses live on.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
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

// `parent`, a row of the last step, continued by a token; eos is scored but not appended.
Live continued(const Live& parent, std::int64_t row, const NextToken& token, const TargetIds& ids);

// A complete hypothesis with its ranking criterion: score / lp(|y|), plus the coverage penalty.
Hypothesis completed(Live live, bool ended, const SearchConfig& config);

// Beam search; greedy search is a beam of 1.
//
// A beam keeps the K likeliest unfinished hypotheses of a sentence. Each step scores every continuation, and of the 2K
// best, those that end in eos and rank among the first K are finished, and the first K others continue. A sentence is
// done when K (times the patience) are finished or the maximum length is reached (as in fairseq and CTranslate2).
// Hypotheses are ranked by log p(y) / |y|^alpha, |y| counting eos: the rule of Marian, fairseq, Hugging Face and
// CTranslate2; --length-penalty-kind gnmt is that of Wu et al. 2016 (arXiv 1609.08144).
class Beam : public Strategy {
 public:
  Beam(const SearchConfig& config, const TargetIds& ids) : Beam(config, ids, config.beam) {}

  // pad, bos, marks and perhaps eos may be among a row's best and are skipped.
  std::int64_t candidates() const override { return 2 * size_ + 3 + std::ssize(ids_.marks); }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override;
  std::vector<Hypothesis> results(OpenSentence sentence) const override;

 protected:
  // A beam of `size` hypotheses in place of --beam.
  Beam(const SearchConfig& config, const TargetIds& ids, std::int64_t size) : config_(config), ids_(ids), size_(size) {}

  // A continuation of a live hypothesis.
  struct Candidate {
    std::int64_t live = 0;
    NextToken token = {};
    double score = 0;
  };

  // The continuations by the best tokens of each row, at most `per_row` and with a score of at least `least`; eos only
  // from the minimum length on.
  std::vector<Candidate> continuations(const std::vector<Live>& live, const NextTokens& next, std::int64_t first_row,
                                       std::int64_t per_row = std::numeric_limits<std::int64_t>::max(),
                                       double least = std::numeric_limits<double>::lowest()) const;
  // Puts the `count` best first and drops the others; of equal ones first that of the earlier row and smaller id.
  static void keep_best(std::vector<Candidate>& candidates, std::int64_t count);
  // Replaces the live hypotheses, whose first row is `first_row`, by continuations, given in order of priority: those
  // that end among the first K are finished, and the first K others continue.
  void take(OpenSentence& sentence, const std::vector<Candidate>& ranked, std::int64_t first_row) const;

  const SearchConfig& config_;
  const TargetIds& ids_;
  std::int64_t size_;  // K
};

// Diverse beam search (Vijayakumar et al. 2016, arXiv 1610.02424) with Hamming diversity, as Transformers' group beam
// search: the beam is G groups of K / G hypotheses. In each step the groups continue one after the other, each as its
// own beam, with these scores of a token y:
//
//   log p(y) - D * (hypotheses of earlier groups that continued with y in this step)
//
// The tokens of a prefix, which no group can avoid, are not penalised. The penalties remain in the scores of a
// hypothesis. A sentence is done when all of its groups are; their hypotheses are ranked together.
class DiverseBeam final : public Beam {
 public:
  DiverseBeam(const SearchConfig& config, const TargetIds& ids)
      : Beam(config, ids, config.beam / config.diverse_groups) {}

  // The best tokens of a row are among these whatever other groups chose.
  std::int64_t candidates() const override { return Beam::candidates() + config_.beam - size_; }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override;
};

// Beam search with phrases that must occur: dynamic beam allocation (Post and Vilar 2018, arXiv 1804.06609). A
// hypothesis belongs to the bank of the constraint tokens that it has met: those of the phrases that stand in it, and
// those at its end with which a phrase begins; an interrupted phrase no longer counts. The candidates of a step
// are the best of all rows, the best of each row, and the next token of each phrase that is not met. The beam is shared
// out among the banks in turn (Hu et al. 2019, N19-1090): the best of each bank, the fullest bank first, then the
// second of each, and so on.
//
//   constraints "a b" and "c"    met by "x": 0    "x a": 1    "x a b": 2    "x a c": 1    "x a b c": 3, it may end
//
// A hypothesis that could not meet the rest within the maximum length is dropped, so that all constraints are met
// whatever the beam size, provided that the prefix and the rest fit. Sentences without constraints are searched as by
// Beam.

class ConstrainedBeam final : public Beam {
 public:
  ConstrainedBeam(const SearchConfig& config, const TargetIds& ids) : Beam(config, ids) {}

  bool whole() const override { return true; }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override;

 private:
  struct Ranked {
    Candidate candidate;
    std::int64_t missing = 0;  // constraint tokens still missing after it
    bool is_next = false;      // the next token of an unmet phrase
    std::int64_t in_bank = 0;  // its place there
  };
  std::vector<Ranked> feasible(const OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const;
};

// The number of tokens of the constraints that `ids` has not met.
std::int64_t missing_tokens(const std::vector<std::int32_t>& ids, const std::vector<PhraseIds>& constraints);

// Ancestral sampling: every token is drawn from the model's distribution after the processors.
//
// A random number is a function of (seed, line, sample, step), so that samples depend on other sentences, batches and
// threads only through the rounding of logits. A sample's score is log p(y) / lp(|y|) plus a coverage penalty
// (completed()), with the model's log p before the processors.

class Sampling final : public Strategy {
 public:
  Sampling(const SearchConfig& config, const TargetIds& ids) : config_(config), ids_(ids) {}

  std::int64_t rows() const override { return config_.sample; }
  std::int64_t candidates() const override { return 0; }
  bool whole() const override { return true; }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override;
  std::vector<Hypothesis> results(OpenSentence sentence) const override { return std::move(sentence.finished); }

 private:
  const SearchConfig& config_;
  const TargetIds& ids_;
};

// The token at which the cumulative sum of exp(score) first exceeds `uniform`, in [0, 1), of its total; none if no
// score is finite. Example: of equal scores of 4 tokens, 0.5 draws the third.
std::optional<std::int64_t> draw(std::span<const float> scores_V, double uniform);

}  // namespace attend
