// The measurements of `attend compare` for language models: runs of `attend pretrain --objective causal` on the
// documents of a test text.
#pragma once

#include <cmath>
#include <numbers>
#include <span>
#include <string>

#include "analysis/compare.hpp"
#include "analysis/pair_tests.hpp"
#include "analysis/report/comparison.hpp"

namespace attend {

// exp(-log p / words), from rows (-log p in nats, words) of documents; the end of a document counts as a word.
class PerplexityByWord final : public MeanLoss {
 public:
  double value(std::span<const double> statistics) const override { return std::exp(MeanLoss::value(statistics)); }
  std::string name() const override { return "Perplexity by word"; }
};

// -log2 p / bytes, from rows (-log p in nats, bytes) of documents.
class BitsPerByte final : public MeanLoss {
 public:
  double value(std::span<const double> statistics) const override {
    return MeanLoss::value(statistics) / std::numbers::ln2;
  }
  std::string name() const override { return "Bits per byte"; }
};

// UserError for runs or texts that cannot be compared. Interrupted after SIGINT or SIGTERM.
LanguageComparison compare_language(const CompareConfig& config);

}  // namespace attend
