#include "eval/metrics/translation_metrics.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "core/error.hpp"
#include "eval/metrics/ter.hpp"

namespace attend::metrics {
namespace {

using Made = std::unique_ptr<Metric>;
using Options = TranslationMetrics;

constexpr TextMetric kTextMetrics[] = {
    {"bleu", false, "precision of n-grams up to 4 with a brevity penalty",
     [](const Options& it) -> Made {
       return std::make_unique<Bleu>(
           BleuOptions{.tokenize = it.choice.tokenize, .smoothing = it.smoothing, .lowercase = it.lowercase});
     }},
    {"chrf", false, "F-score of character n-grams, recall weighing twice",
     [](const Options& it) -> Made {
       return std::make_unique<Chrf>(
           ChrfOptions{.word_order = static_cast<int>(it.chrf_word_order), .lowercase = it.lowercase});
     }},
    {"ter", true, "edits per reference word, in percent",
     [](const Options& it) -> Made { return std::make_unique<Ter>(it.tercom); }},
    {"rouge1", false, "mean F1 of words", [](const Options&) -> Made { return std::make_unique<Rouge>(1); }},
    {"rouge2", false, "mean F1 of pairs of words", [](const Options&) -> Made { return std::make_unique<Rouge>(2); }},
    {"rougeL", false, "mean F1 of the longest common subsequence of words",
     [](const Options&) -> Made { return std::make_unique<Rouge>(Rouge::kLongestSubsequence); }},
};

std::string all_keys() {
  return fmt::format("{}", fmt::join(kTextMetrics | std::views::transform(&TextMetric::key), ", "));
}

}  // namespace

std::span<const TextMetric> text_metrics() { return kTextMetrics; }

const TextMetric* find_text_metric(std::string_view key) {
  const auto* const found = std::ranges::find(kTextMetrics, key, &TextMetric::key);
  return found == std::end(kTextMetrics) ? nullptr : found;
}

std::string_view MetricChoice::help() {
  static const std::string text = "metrics of texts, the most important one first: " + all_keys();
  return text;
}

void MetricChoice::validate(const OptionOrigins& origins) const {
  const std::string remedy = "choose from " + all_keys();
  if (metrics.empty()) throw UserError(origins("metrics") + ": no metric", remedy);
  for (const std::string& key : metrics) {
    if (find_text_metric(key) == nullptr) {
      throw UserError(fmt::format("{}: unknown metric \"{}\"", origins("metrics"), key), remedy);
    }
    if (std::ranges::count(metrics, key) > 1) {
      throw UserError(fmt::format("{}: {} is given twice", origins("metrics"), key), "give each metric once");
    }
  }
}

void TranslationMetrics::validate(const OptionOrigins& origins) const {
  choice.validate(origins);
  if (tercom.asian_support && !tercom.normalized && !tercom.no_punct) {
    throw UserError(origins("ter-asian-support") + ": no effect without --ter-normalized or --ter-no-punct",
                    "add one of them, or leave it out");
  }
}

std::vector<std::unique_ptr<Metric>> TranslationMetrics::make() const {
  std::vector<std::unique_ptr<Metric>> made;
  for (const std::string& key : choice.metrics) {
    const TextMetric* metric = find_text_metric(key);
    ensure(metric != nullptr, "the metrics are registered");
    made.push_back(metric->make(*this));
  }
  return made;
}

}  // namespace attend::metrics
