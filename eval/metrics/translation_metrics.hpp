// The metrics of texts against reference texts: the registry, the choice among them, and their options.
//
//   TranslationMetrics options{.choice = {.metrics = {"bleu", "rougeL"}}};
//   for (const auto& metric : options.make()) evaluate(*metric, hypotheses, references).line();
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "eval/metrics/metric.hpp"
#include "eval/metrics/ngram_metrics.hpp"
#include "eval/metrics/tokenizers.hpp"

namespace attend::metrics {

struct TranslationMetrics;

// A row of the registry.
struct TextMetric {
  std::string_view key;  // in options, logs and JSON
  bool lower_is_better;
  std::string_view meaning;  // "precision of n-grams up to 4 with a brevity penalty"
  std::unique_ptr<Metric> (*make)(const TranslationMetrics& options);
};

// All metrics, in the order of their presentation.
std::span<const TextMetric> text_metrics();
// nullptr if there is no metric of this key.
const TextMetric* find_text_metric(std::string_view key);

// The keys of chosen metrics, and the tokens of BLEU, which depend on the language.
struct MetricChoice {
  std::vector<std::string> metrics = {"bleu", "chrf", "ter"};
  Tokenization tokenize = Tokenization::mteval_13a;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit, const Condition& only = {}) {
    visit(
        "metrics", self.metrics,
        {.help = help(), .placeholder = "NAME", .may_change = true, .identifies = false, .common = true, .only = only});
    visit("tokenize", self.tokenize,
          {.help = "tokenization for BLEU: 13a (most languages), zh (Chinese), intl (splits at Unicode punctuation and "
                   "symbols), char (characters), none (the text is tokenized)",
           .only = {"metrics", {"bleu"}}});
  }
  // UserError for no metric, an unknown one, or one given twice.
  void validate(const OptionOrigins& origins) const;

 private:
  static std::string_view help();  // lists the registry
};

struct TranslationMetrics {
  MetricChoice choice = {};
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  std::int64_t chrf_word_order = 0;
  TercomOptions tercom = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    MetricChoice::visit(self.choice, visit);
    visit("lowercase", self.lowercase, {.help = "ignore case in BLEU and chrF", .only = {"metrics", {"bleu", "chrf"}}});
    visit("smoothing", self.smoothing,
          {.help = "smoothing of n-gram orders without a match in BLEU", .only = {"metrics", {"bleu"}}});
    visit("chrf-word-order", self.chrf_word_order,
          {.help = "longest word n-grams in chrF; 2 gives chrF2++", .min = 0, .max = 2, .only = {"metrics", {"chrf"}}});
    constexpr Condition kTer = {"metrics", {"ter"}};
    visit("ter-normalized", self.tercom.normalized,
          {.help = "split off punctuation before TER counts edits", .only = kTer});
    visit("ter-no-punct", self.tercom.no_punct, {.help = "remove punctuation before TER counts edits", .only = kTer});
    visit("ter-asian-support", self.tercom.asian_support,
          {.help = "extend --ter-normalized and --ter-no-punct to Chinese and Japanese characters", .only = kTer});
    visit("ter-case-sensitive", self.tercom.case_sensitive, {.help = "count differences of case in TER", .only = kTer});
  }

  void validate(const OptionOrigins& origins) const;

  // The chosen metrics, parallel to choice.metrics.
  std::vector<std::unique_ptr<Metric>> make() const;
};

}  // namespace attend::metrics
