// BLEU (Papineni et al. 2002), equal to sacreBLEU 2.6.0.
//
// Left out: orders other than 4, and other smoothing values than sacreBLEU's defaults (floor 0.1, add-k 1).
#pragma once

#include <array>
#include <string>

#include "core/options.hpp"
#include "eval/metrics/metric.hpp"
#include "eval/metrics/tokenizers.hpp"

namespace attend::metrics {

inline constexpr int kBleuOrder = 4;

enum class BleuSmoothing { none, exp, floor, add_k };

struct BleuOptions {
  Tokenization tokenize = Tokenization::mteval_13a;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  bool lowercase = false;
  bool effective_order = false;  // average only over orders that occur in the hypothesis
};

struct BleuScore {
  double score = 0;
  std::array<double, kBleuOrder> precisions{};  // smoothed, in percent
  double brevity_penalty = 1;
  double ratio = 0;              // hypothesis_length / reference_length, 0 for an empty reference
  double hypothesis_length = 0;  // tokens
  double reference_length = 0;   // tokens of the reference closest in length; the shorter one on a tie
};

class Bleu : public Metric {
 public:
  explicit Bleu(const BleuOptions& options = {}) : options_(options) {}

  // [hypothesis length, reference length, matches of order 1..4, n-grams of order 1..4].
  std::size_t width() const override { return 2 + 2 * kBleuOrder; }
  std::vector<double> statistics(std::string_view hypothesis,
                                 std::span<const std::string_view> references) const override;

  BleuScore score(std::span<const double> statistics) const { return score(statistics, options_.effective_order); }
  double value(std::span<const double> statistics) const override { return score(statistics).score; }
  // Always with effective order: most sentences match no 4-gram.
  double segment_value(std::span<const double> statistics) const override { return score(statistics, true).score; }

  std::string name() const override { return "BLEU"; }
  std::string details(std::span<const double> statistics) const override;
  nlohmann::ordered_json parts(std::span<const double> statistics) const override;

 protected:
  std::string settings() const override;

 private:
  BleuScore score(std::span<const double> statistics, bool effective_order) const;
  BleuOptions options_;
};

}  // namespace attend::metrics

template <>
inline constexpr auto attend::kEnumNames<attend::metrics::BleuSmoothing> =
    std::to_array<attend::EnumName<attend::metrics::BleuSmoothing>>({
        {metrics::BleuSmoothing::none, "none"},
        {metrics::BleuSmoothing::exp, "exp"},
        {metrics::BleuSmoothing::floor, "floor"},
        {metrics::BleuSmoothing::add_k, "add-k"},
    });
