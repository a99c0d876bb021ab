// The measurements of `attend compare` for language models: runs of `attend pretrain --objective causal` on the
// documents of a test text.
#pragma once

#include <span>
#include <string>

#include "analysis/compare.hpp"
#include "analysis/report/language_comparison.hpp"
#include "eval/metrics/metric.hpp"

namespace attend {

// exp(-log p / words), from rows (-log p in nats, words) of documents; the end of a document counts as a word.
class PerplexityByWord : public metrics::Measure {
 public:
  std::size_t width() const override { return 2; }
  double value(std::span<const double> statistics) const override;
  std::string name() const override { return "Perplexity by word"; }
};

// -log2 p / bytes, from rows (-log p in nats, bytes) of documents.
class BitsPerByte : public metrics::Measure {
 public:
  std::size_t width() const override { return 2; }
  double value(std::span<const double> statistics) const override;
  std::string name() const override { return "Bits per byte"; }
};

// UserError for runs or texts that cannot be compared. Interrupted after SIGINT or SIGTERM.
LanguageComparison compare_language(const CompareConfig& config);

}  // namespace attend
