// Intervals and paired tests against what sacreBLEU says of its own samples, fixtures/significance.json
// (tests/parity/make_fixtures_significance.py).
#include "eval/metrics/significance.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "eval/metrics/bleu.hpp"
#include "eval/metrics/chrf.hpp"
#include "eval/metrics/ter.hpp"

namespace attend::metrics {
namespace {

using nlohmann::json;

const json& significance_fixture() {
  static const json content = read_json(ATTEND_SOURCE_DIR "/tests/parity/fixtures/significance.json");
  return content;
}

std::vector<std::unique_ptr<Metric>> all_metrics() {
  std::vector<std::unique_ptr<Metric>> metrics;
  metrics.push_back(std::make_unique<Bleu>());
  metrics.push_back(std::make_unique<Chrf>());
  metrics.push_back(std::make_unique<Ter>());
  return metrics;
}

std::vector<std::string> fixture_lines(const char* name) {
  return significance_fixture().at(name).get<std::vector<std::string>>();
}

Tally tally_of(const Metric& metric, const char* system) {
  const std::vector<std::vector<std::string>> references = {fixture_lines("references")};
  return evaluate(metric, fixture_lines(system), references);
}

TEST(Significance, EqualsSacrebleuForItsSamples) {
  Resamples samples;
  for (const std::string& row : fixture_lines("resamples")) {
    std::vector<std::uint32_t>& sample = samples.emplace_back();
    for (const char digit : row)
      sample.push_back(static_cast<std::uint32_t>(std::stoul(std::string(1, digit), nullptr, 16)));
  }
  Exchanges exchanges;
  for (const std::string& row : fixture_lines("kept")) {
    std::vector<bool>& trial = exchanges.emplace_back();
    for (const char kept : row) trial.push_back(kept == '0');
  }
  for (const auto& metric : all_metrics()) {
    const json& expected = significance_fixture().at("metrics").at(metric->name());
    const std::array tallies{tally_of(*metric, "a"), tally_of(*metric, "b")};
    std::array<std::vector<double>, 2> scores;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(tallies[i].value(), expected.at("scores")[i].get<double>(), 1e-12);
      scores[i] = resampled(tallies[i], samples);
      const Interval interval = interval_of(scores[i]);
      const double mean = expected.at("means")[i], half = expected.at("half_widths")[i];
      EXPECT_NEAR(interval.low, mean - half, 2e-5) << metric->name();  // sacreBLEU computes samples in 32 bits
      EXPECT_NEAR(interval.high, mean + half, 2e-5) << metric->name();
    }
    const double difference = tallies[1].value() - tallies[0].value();
    EXPECT_DOUBLE_EQ(paired_bootstrap(scores[0], scores[1], difference), expected.at("p_bootstrap")) << metric->name();
    EXPECT_DOUBLE_EQ(approximate_randomisation(tallies[0], tallies[1], exchanges), expected.at("p_randomisation"))
        << metric->name();
  }
}

// Other samples give other p-values, within the error of so many samples (three standard errors of a share near 0.05).
TEST(Significance, OwnSamplesAgreeWithinTheirError) {
  const Bleu bleu;
  const Tally a = tally_of(bleu, "a"), b = tally_of(bleu, "b");
  const Resamples samples = draw_resamples(a.size(), 4000);
  const std::vector<double> of_a = resampled(a, samples), of_b = resampled(b, samples);
  const json& expected = significance_fixture().at("metrics").at("BLEU");
  EXPECT_NEAR(paired_bootstrap(of_a, of_b, b.value() - a.value()), expected.at("p_bootstrap").get<double>(), 0.02);
  EXPECT_NEAR(approximate_randomisation(a, b, draw_exchanges(a.size(), 4000)),
              expected.at("p_randomisation").get<double>(), 0.02);
  const Interval interval = interval_of(of_a);
  EXPECT_NEAR(interval.high - interval.low, 2 * expected.at("half_widths")[0].get<double>(), 3);
}

TEST(Significance, ASystemDoesNotDifferFromItself) {
  const Chrf chrf;
  const Tally a = tally_of(chrf, "a");
  const std::vector<double> scores = resampled(a, draw_resamples(a.size(), 200));
  EXPECT_EQ(paired_bootstrap(scores, scores, 0), 1);
  EXPECT_EQ(approximate_randomisation(a, a, draw_exchanges(a.size(), 10)), 1);
  EXPECT_NE(draw_resamples(50, 2)[0], draw_resamples(50, 2)[1]);
  EXPECT_EQ(draw_resamples(50, 2), draw_resamples(50, 2));
}

TEST(Significance, PermutationsOfSmallGroupsAreCounted) {
  const std::vector<double> low{1, 2, 3}, high{4, 5, 6}, same{2, 2, 2};
  EXPECT_DOUBLE_EQ(permutation_test(low, high), 2.0 / 20);
  EXPECT_DOUBLE_EQ(permutation_test(same, same), 1.0);
  EXPECT_DOUBLE_EQ(permutation_test({{1.0}}, {{2.0}}), 1.0);
  // {1, 4}, {2, 3}: means differ by 0; every division differs by at least that.
  EXPECT_DOUBLE_EQ(permutation_test(std::vector<double>{1, 4}, std::vector<double>{2, 3}), 1.0);
}

TEST(Significance, AnIntervalHoldsTheValueAndIsTheSameAgain) {
  const std::vector<std::int64_t> gold(200, 1);
  std::vector<std::int64_t> predicted(200, 1);
  for (std::size_t i = 0; i < 60; ++i) predicted[i] = 0;
  const auto metric = [&](std::span<const std::size_t> items) {
    return std::accumulate(
               items.begin(), items.end(), 0.0,
               [&](double sum, std::size_t i) { return sum + static_cast<double>(predicted[i] == gold[i]); }) /
           static_cast<double>(items.size());
  };
  const Interval interval = bootstrap(200, metric);
  // 0.7 ± 1.96 sqrt(0.7 * 0.3 / 200) is 0.636 to 0.764.
  EXPECT_NEAR(interval.low, 0.636, 0.01);
  EXPECT_NEAR(interval.high, 0.764, 0.01);
  EXPECT_EQ(bootstrap(200, metric).low, interval.low);
}

// By hand; and Wilson's defining property: at its ends the value is 1.96 of their standard errors away.
TEST(Significance, WilsonsInterval) {
  const Interval nine = wilson(9, 10);
  EXPECT_NEAR(nine.low, 0.5958499732047615, 1e-12);
  EXPECT_NEAR(nine.high, 0.9821237869049271, 1e-12);
  EXPECT_NEAR(wilson(0, 4).low, 0, 1e-12);
  EXPECT_NEAR(wilson(4, 4).high, 1, 1e-12);
  const Interval some = wilson(70, 200);
  for (const double end : {some.low, some.high}) {
    EXPECT_NEAR(std::abs(end - 0.35), 1.959963984540054 * std::sqrt(end * (1 - end) / 200), 1e-12);
  }
}

}  // namespace
}  // namespace attend::metrics
