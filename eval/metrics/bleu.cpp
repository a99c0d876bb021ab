#include "eval/metrics/bleu.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "eval/metrics/ngrams.hpp"
#include "eval/metrics/text.hpp"

namespace attend::metrics {
namespace {

constexpr double kFloor = 0.1;
constexpr double kAdded = 1;

}  // namespace

std::vector<double> Bleu::statistics(std::string_view hypothesis, std::span<const std::string_view> references) const {
  // The texts stay alive beside `ids`, which points into them.
  std::vector<std::string> texts;
  texts.reserve(references.size() + 1);
  WordIds ids;
  const auto words_of = [&](std::string_view line) {
    const std::string lower = options_.lowercase ? lower_case(line) : std::string();
    return ids.of(split_words(texts.emplace_back(tokenize(options_.lowercase ? lower : line, options_.tokenize))));
  };

  NgramTrie trie(kBleuOrder);
  std::vector<std::uint32_t> found;
  const std::vector<std::uint32_t> words = words_of(hypothesis);
  trie.count(words, found);

  // Clipped counts: an n-gram matches at most as often as it occurs in a single reference.
  std::vector<std::uint32_t> allowed(found.size());
  std::size_t closest = 0;
  for (std::size_t r = 0; r < references.size(); ++r) {
    std::vector<std::uint32_t> in_reference;
    const std::vector<std::uint32_t> reference = words_of(references[r]);
    trie.count(reference, in_reference);
    for (std::size_t node = 0; node < allowed.size(); ++node) {
      allowed[node] = std::max(allowed[node], in_reference[node]);
    }
    const auto distance = [&](std::size_t length) {
      return std::pair(std::max(length, words.size()) - std::min(length, words.size()), length);
    };
    if (r == 0 || distance(reference.size()) < distance(closest)) closest = reference.size();
  }

  std::vector<double> row(width());
  row[0] = static_cast<double>(words.size());
  row[1] = static_cast<double>(closest);
  double* const matches = &row[2] - 1;  // by order, from 1
  double* const totals = &row[2 + kBleuOrder] - 1;
  for (std::size_t node = 1; node < found.size(); ++node) {
    matches[trie.order(node)] += std::min(found[node], allowed[node]);
    totals[trie.order(node)] += found[node];
  }
  return row;
}

BleuScore Bleu::score(std::span<const double> statistics, bool effective_order) const {
  BleuScore result;
  result.hypothesis_length = statistics[0];
  result.reference_length = statistics[1];
  if (result.reference_length > 0) result.ratio = result.hypothesis_length / result.reference_length;
  if (result.hypothesis_length < result.reference_length) {
    result.brevity_penalty =
        result.hypothesis_length > 0 ? std::exp(1 - result.reference_length / result.hypothesis_length) : 0;
  }
  const std::span<const double> all_matches = statistics.subspan(2, kBleuOrder);
  if (std::ranges::all_of(all_matches, [](double matches) { return matches == 0; })) return result;

  int order = kBleuOrder;
  double penalty = 1;
  for (int n = 0; n < kBleuOrder; ++n) {
    const double added = options_.smoothing == BleuSmoothing::add_k && n > 0 ? kAdded : 0;
    const double matches = all_matches[static_cast<std::size_t>(n)] + added;
    const double total = statistics[static_cast<std::size_t>(2 + kBleuOrder + n)] + added;
    if (total == 0) break;
    if (effective_order) order = n + 1;
    double& precision = result.precisions[static_cast<std::size_t>(n)];
    if (matches > 0) {
      precision = 100 * matches / total;
    } else if (options_.smoothing == BleuSmoothing::exp) {
      precision = 100 / ((penalty *= 2) * total);
    } else if (options_.smoothing == BleuSmoothing::floor) {
      precision = 100 * kFloor / total;
    }
  }
  double sum = 0;
  for (int n = 0; n < order; ++n) {
    const double precision = result.precisions[static_cast<std::size_t>(n)];
    sum += precision > 0 ? std::log(precision) : -9999999999.0;  // sacreBLEU's logarithm of zero
  }
  result.score = result.brevity_penalty * std::exp(sum / order);
  return result;
}

std::string Bleu::details(std::span<const double> statistics) const {
  const BleuScore s = score(statistics);
  return fmt::format("{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {:.0f} ref_len = {:.0f})",
                     fmt::join(s.precisions, "/"), s.brevity_penalty, s.ratio, s.hypothesis_length, s.reference_length);
}

nlohmann::ordered_json Bleu::parts(std::span<const double> statistics) const {
  const BleuScore s = score(statistics);
  return {{"precisions", s.precisions},
          {"brevity_penalty", s.brevity_penalty},
          {"ratio", s.ratio},
          {"hypothesis_length", static_cast<std::int64_t>(s.hypothesis_length)},
          {"reference_length", static_cast<std::int64_t>(s.reference_length)}};
}

std::string Bleu::settings() const {
  std::string smoothing(name_of(options_.smoothing));
  if (options_.smoothing == BleuSmoothing::floor) smoothing += fmt::format("[{:.2f}]", kFloor);
  if (options_.smoothing == BleuSmoothing::add_k) smoothing += fmt::format("[{:.2f}]", kAdded);
  return fmt::format("case:{}|eff:{}|tok:{}|smooth:{}", options_.lowercase ? "lc" : "mixed",
                     options_.effective_order ? "yes" : "no", name_of(options_.tokenize), smoothing);
}

}  // namespace attend::metrics
