// Processors that shape the distribution from which a sample is drawn. They equal Transformers' processors, in the
// order of its `generate`: temperature, top-k, top-p, min-p, epsilon. Each sees the distribution that the one before it
// left, rescaled to a sum of 1.
#pragma once

#include <vector>

#include "eval/search/processor.hpp"

namespace attend {

// Excludes what a sample must not contain, as a beam passes it over (TargetIds::may_follow).
class NeverProduced final : public LogitsProcessor {
 public:
  NeverProduced(const TargetIds& ids, std::int64_t min_length) : ids_(ids), min_length_(min_length) {}
  void apply(const OpenSentence& sentence, const Live& live, std::span<float> scores_V) const override;

 private:
  TargetIds ids_;
  std::int64_t min_length_;
};

// p^(1/T) / sum p^(1/T).
class Temperature final : public LogitsProcessor {
 public:
  explicit Temperature(double temperature) : temperature_(temperature) {}
  void apply(const OpenSentence& sentence, const Live& live, std::span<float> scores_V) const override;

 private:
  double temperature_;
};

// Excludes the tokens whose score is below a threshold. Of several scores equal to the threshold all are kept, and the
// highest score is always kept.
class Truncation : public LogitsProcessor {
 public:
  void apply(const OpenSentence& sentence, const Live& live, std::span<float> scores_V) const final;

 private:
  // The threshold for the scores that are finite, at least one, which it may reorder.
  virtual double threshold(std::vector<float>& scores) const = 0;
};

// Keeps the k highest (Fan et al. 2018, arXiv 1805.04833).
class TopK final : public Truncation {
 public:
  explicit TopK(std::int64_t k) : k_(k) {}

 private:
  double threshold(std::vector<float>& scores) const override;
  std::int64_t k_;
};

// Keeps the fewest highest whose probabilities sum to p or more (nucleus sampling: Holtzman et al. 2020, arXiv
// 1904.09751, equation 2). Example: of 0.5, 0.3 and 0.2 it keeps two for p = 0.7.
class TopP final : public Truncation {
 public:
  explicit TopP(double p) : p_(p) {}

 private:
  double threshold(std::vector<float>& scores) const override;
  double p_;
};

// Keeps those with at least a share of the highest probability (Nguyen et al. 2024, arXiv 2407.01082).
class MinP final : public Truncation {
 public:
  explicit MinP(double share) : share_(share) {}

 private:
  double threshold(std::vector<float>& scores) const override;
  double share_;
};

// Keeps those with at least a probability (Hewitt et al. 2022, arXiv 2210.15191), at least the highest.
class Epsilon final : public Truncation {
 public:
  explicit Epsilon(double epsilon) : epsilon_(epsilon) {}

 private:
  double threshold(std::vector<float>& scores) const override;
  double epsilon_;
};

}  // namespace attend
