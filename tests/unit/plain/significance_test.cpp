// Intervals and paired tests: against numpy and sacreBLEU on the samples of fixtures/significance.json
// (tests/parity/make_fixtures_significance.py), where p is known exactly, and under no difference.
#include "eval/metrics/significance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/random.hpp"
#include "eval/metrics/ngram_metrics.hpp"
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

// sacreBLEU's own samples of the fixture.
struct Samples {
  Resamples resamples;
  Exchanges exchanges;
};

Samples fixture_samples() {
  Samples samples;
  for (const std::string& row : fixture_lines("resamples")) {
    std::vector<std::uint32_t>& sample = samples.resamples.emplace_back();
    for (const char digit : row)
      sample.push_back(static_cast<std::uint32_t>(std::stoul(std::string(1, digit), nullptr, 16)));
  }
  for (const std::string& row : fixture_lines("kept")) {
    std::vector<bool>& trial = samples.exchanges.emplace_back();
    for (const char kept : row) trial.push_back(kept == '0');
  }
  return samples;
}

TEST(Significance, EqualsTheFixture) {
  const Samples samples = fixture_samples();
  for (const auto& metric : all_metrics()) {
    SCOPED_TRACE(metric->name());
    const json& of_metric = significance_fixture().at("metrics").at(metric->name());
    const json& expected = of_metric.at("expected");
    const std::array tallies{tally_of(*metric, "a"), tally_of(*metric, "b")};
    std::array<std::vector<double>, 2> scores;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(tallies[i].value(), of_metric.at("scores")[i].get<double>(), 1e-12);
      scores[i] = resampled(tallies[i], samples.resamples);
      const Interval interval = interval_of(scores[i], tallies[i].size());
      EXPECT_NEAR(interval.low, expected.at("low")[i].get<double>(), 1e-9);
      EXPECT_NEAR(interval.high, expected.at("high")[i].get<double>(), 1e-9);
    }
    const double difference = tallies[1].value() - tallies[0].value();
    EXPECT_DOUBLE_EQ(paired_bootstrap(scores[0], scores[1], difference, 14), expected.at("p_bootstrap"));
    EXPECT_DOUBLE_EQ(approximate_randomisation(tallies[0], tallies[1], samples.exchanges),
                     expected.at("p_randomisation"));
  }
}

// The values that sacreBLEU computes from the same samples, by its own formulas.
TEST(Significance, SacrebleusValuesCanBeReproduced) {
  const Samples samples = fixture_samples();
  for (const auto& metric : all_metrics()) {
    SCOPED_TRACE(metric->name());
    const json& expected = significance_fixture().at("metrics").at(metric->name()).at("sacrebleu");
    const std::array tallies{tally_of(*metric, "a"), tally_of(*metric, "b")};
    const auto mean = [](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    };
    std::array<std::vector<double>, 2> scores;
    for (std::size_t i = 0; i < 2; ++i) {
      scores[i] = resampled(tallies[i], samples.resamples);
      const Interval interval = interval_of(scores[i], tallies[i].size());
      EXPECT_NEAR(mean(scores[i]), expected.at("means")[i].get<double>(), 2e-5);  // it computes samples in 32 bits
      EXPECT_NEAR((interval.high - interval.low) / 2, expected.at("half_widths")[i].get<double>(), 2e-5);
    }
    const double difference = std::abs(tallies[1].value() - tallies[0].value());
    std::vector<double> distances;
    for (std::size_t i = 0; i < samples.resamples.size(); ++i)
      distances.push_back(std::abs(scores[1][i] - scores[0][i]));
    const double shift = mean(distances);
    const auto above = std::ranges::count_if(distances, [&](double d) { return d - shift > difference; });
    EXPECT_DOUBLE_EQ(static_cast<double>(above + 1) / 1001, expected.at("p_bootstrap"));
    std::size_t larger = 0;
    for (const std::vector<bool>& trial : samples.exchanges) {
      std::array<std::vector<double>, 2> sums;
      for (auto& sum : sums) sum.resize(metric->width());
      for (std::size_t i = 0; i < trial.size(); ++i) {
        for (std::size_t system = 0; system < 2; ++system) {
          const auto row = tallies[trial[i] ? 1 - system : system].row(i);
          for (std::size_t k = 0; k < row.size(); ++k) sums[system][k] += row[k];
        }
      }
      larger += std::abs(metric->value(sums[1]) - metric->value(sums[0])) > difference;
    }
    EXPECT_DOUBLE_EQ(static_cast<double>(larger + 1) / 1001, expected.at("p_randomisation"));
  }
}

// Other samples give other p-values, within the error of so many samples (three standard errors of a share near 0.05).
TEST(Significance, OwnSamplesAgreeWithinTheirError) {
  const Bleu bleu;
  const Tally a = tally_of(bleu, "a"), b = tally_of(bleu, "b");
  const Resamples samples = draw_resamples(a.size(), 4000);
  const std::vector<double> of_a = resampled(a, samples), of_b = resampled(b, samples);
  const json& expected = significance_fixture().at("metrics").at("BLEU").at("expected");
  EXPECT_NEAR(paired_bootstrap(of_a, of_b, b.value() - a.value(), 14), expected.at("p_bootstrap").get<double>(), 0.02);
  EXPECT_NEAR(approximate_randomisation(a, b, draw_exchanges(a.size(), 4000)),
              expected.at("p_randomisation").get<double>(), 0.02);
  const Interval interval = interval_of(of_a, a.size());
  EXPECT_NEAR(interval.high - interval.low, expected.at("high")[0].get<double>() - expected.at("low")[0].get<double>(),
              3);
}

// The mean of numbers, each the text of a segment.
class Mean : public Metric {
 public:
  std::size_t width() const override { return 2; }
  std::vector<double> statistics(std::string_view text, std::span<const std::string_view>) const override {
    return {std::stod(std::string(text)), 1};
  }
  double value(std::span<const double> sum) const override { return sum[0] / sum[1]; }
  std::string name() const override { return "mean"; }

 protected:
  std::string settings() const override { return {}; }
};

struct PValues {
  double bootstrap = 0;
  double randomisation = 0;
};

PValues test_of(const Tally& a, const Tally& b, const Resamples& samples, const Exchanges& exchanges) {
  return {.bootstrap = paired_bootstrap(resampled(a, samples), resampled(b, samples), b.value() - a.value(), a.size()),
          .randomisation = approximate_randomisation(a, b, exchanges)};
}

// k of 500 sentences are better by 1, the others equal. The randomisation finds as large a difference where all k fall
// on one side, 2^(1 - k); the bootstrap where none of the k is drawn, or 2 k or more are (binomial distribution).
TEST(Significance, FewDifferentSentencesHaveTheirExactP) {
  constexpr std::size_t kSentences = 500;
  const Mean mean;
  const Resamples samples = draw_resamples(kSentences, 2000);
  const Exchanges exchanges = draw_exchanges(kSentences, 2000);
  const std::array<double, 5> by_bootstrap = {0.631, 0.277, 0.133, 0.069, 0.038};
  for (std::size_t k = 1; k <= 5; ++k) {
    SCOPED_TRACE(k);
    Tally a(mean), b(mean);
    for (std::size_t i = 0; i < kSentences; ++i) {
      a.add("0.1", {""});
      b.add(i < k ? "1.1" : "0.1", {""});
    }
    const PValues p = test_of(a, b, samples, exchanges);
    const double exact = std::pow(2, 1 - static_cast<double>(k));
    // Four standard errors of 2,000 draws.
    EXPECT_NEAR(p.randomisation, exact, 4 * std::sqrt(exact * (1 - exact) / 2000) + 1e-9);
    EXPECT_NEAR(p.bootstrap, by_bootstrap[k - 1],
                4 * std::sqrt(by_bootstrap[k - 1] * (1 - by_bootstrap[k - 1]) / 2000));
    EXPECT_FALSE(p.bootstrap < 0.05 && p.randomisation < 0.05) << "no verdict from so few";
  }
}

// Without a difference p < 0.05 in 5 % of test sets; 3 to 7 % is four standard errors of 2,000 repetitions.
TEST(Significance, FalseAlarmsAreOneInTwenty) {
  constexpr std::size_t kRepetitions = 2000, kTrials = 100;  // p < 0.05: at most four of 100 trials
  const Mean mean;
  RandomStream random(5);
  const auto normal = [&] {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.uniform();
    return sum;
  };
  for (const std::size_t sentences : {20U, 40U}) {
    SCOPED_TRACE(sentences);
    int bootstrap = 0, randomisation = 0;
    for (std::size_t repetition = 0; repetition < kRepetitions; ++repetition) {
      Tally a(mean), b(mean);
      for (std::size_t i = 0; i < sentences; ++i) {
        const double common = normal();
        a.add(std::to_string(common + normal()), {""});
        b.add(std::to_string(common + normal()), {""});
      }
      const PValues p =
          test_of(a, b, draw_resamples(sentences, kTrials, repetition), draw_exchanges(sentences, kTrials, repetition));
      bootstrap += p.bootstrap < 0.05;
      randomisation += p.randomisation < 0.05;
    }
    for (const int alarms : {bootstrap, randomisation}) {
      EXPECT_GE(alarms, 3 * static_cast<int>(kRepetitions) / 100);
      EXPECT_LE(alarms, 7 * static_cast<int>(kRepetitions) / 100);
    }
    RecordProperty(std::to_string(sentences), std::to_string(bootstrap) + " " + std::to_string(randomisation));
  }
}

TEST(Significance, ASystemDoesNotDifferFromItself) {
  const Chrf chrf;
  const Tally a = tally_of(chrf, "a");
  const std::vector<double> scores = resampled(a, draw_resamples(a.size(), 200));
  EXPECT_EQ(paired_bootstrap(scores, scores, 0, a.size()), 1);
  EXPECT_EQ(approximate_randomisation(a, a, draw_exchanges(a.size(), 10)), 1);
  EXPECT_NE(draw_resamples(50, 2)[0], draw_resamples(50, 2)[1]);
  EXPECT_EQ(draw_resamples(50, 2), draw_resamples(50, 2));
}

// A score near the end of its range: its interval is inside, and not around the mean.
TEST(Significance, IntervalsStayInTheRangeOfTheMetric) {
  const Mean mean;
  Tally tally(mean);
  for (int i = 0; i < 40; ++i) tally.add(i == 0 ? "60" : "0", {""});
  const Interval interval = interval_of(resampled(tally, draw_resamples(40)), 40);
  EXPECT_EQ(interval.low, 0);
  EXPECT_GT(interval.high, 3);
  EXPECT_LT(interval.high, 7);
}

TEST(Significance, TooLittleGivesNoInterval) {
  const std::vector<double> scores = {1, 2, 3, 4};
  EXPECT_TRUE(std::isnan(interval_of(scores, 9).low) && std::isnan(interval_of(scores, 9).high));
  EXPECT_EQ(interval_of(scores, 10).high, 4);
  EXPECT_TRUE(std::isnan(interval_of({100, 100, 100}, 50).low)) << "no width is not certainty";
  EXPECT_EQ(paired_bootstrap(scores, std::vector<double>{5, 6, 7, 8}, 4, 3), 1);
  const auto first = [](std::span<const std::size_t> items) { return static_cast<double>(items[0]); };
  EXPECT_TRUE(std::isnan(bootstrap(9, first).low));
  EXPECT_TRUE(std::isfinite(bootstrap(10, first).low));
  EXPECT_TRUE(std::isnan(bootstrap(50, [](auto) { return 1.0; }).high)) << "no width is not certainty";
}

// exp of a mean that is too large: the perplexity by word of a text without spaces.
class Overflowing : public Mean {
 public:
  double value(std::span<const double> sum) const override { return std::exp(Mean::value(sum)); }
};

TEST(Significance, ScoresThatAreNotFiniteDoNotDiffer) {
  const Overflowing measure;
  Tally a(measure), b(measure);
  for (int i = 0; i < 20; ++i) {
    a.add(std::to_string(702 + i), {""});
    b.add(std::to_string(1000 + i), {""});
  }
  ASSERT_TRUE(std::isinf(a.value()) && std::isinf(b.value()));
  const Resamples samples = draw_resamples(20);
  const std::vector<double> of_a = resampled(a, samples), of_b = resampled(b, samples);
  EXPECT_EQ(paired_bootstrap(of_a, of_b, b.value() - a.value(), 20), 1);
  EXPECT_EQ(approximate_randomisation(a, b, draw_exchanges(20, 10)), 1);
  EXPECT_EQ(permutation_test({{a.value(), 2.0}}, {{b.value(), 3.0}}), 1);
  EXPECT_TRUE(std::isnan(interval_of(of_a, 20).low) && std::isnan(interval_of(of_a, 20).high));
  EXPECT_TRUE(std::isnan(interval_of({1, std::nan(""), 2}, 20).low));
}

// By hand: 0.01 x 4, 0.02 x 3, 0.03 x 2 = 0.06, 0.04 x 1 < 0.06.
TEST(Significance, HolmsCorrection) {
  EXPECT_EQ(holm({}), std::vector<double>());
  EXPECT_EQ(holm({{0.2}}), std::vector<double>{0.2});
  const std::vector<double> corrected = holm({{0.04, 0.01, 0.03, 0.02}});
  const std::vector<double> expected = {0.06, 0.04, 0.06, 0.06};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ(corrected[i], expected[i]) << i;
  EXPECT_EQ(holm({{0.6, 0.7}}), (std::vector<double>{1, 1}));
}

// By hand: with 1 of 10, the two tails of the binomial distribution have 1 + 10 of 1024 outcomes each.
TEST(Significance, McNemarsTestCountsTheItemsOfOneSystemAlone) {
  EXPECT_NEAR(mcnemar(1, 9), 22.0 / 1024, 1e-12);
  EXPECT_NEAR(mcnemar(9, 1), 22.0 / 1024, 1e-12);
  EXPECT_NEAR(mcnemar(0, 3), 2.0 / 8, 1e-12);
  EXPECT_EQ(mcnemar(0, 0), 1);
  EXPECT_EQ(mcnemar(5, 5), 1) << "the two tails overlap";
  EXPECT_LT(mcnemar(0, 4000), 1e-300);
  EXPECT_NEAR(mcnemar(1950, 2050), 0.1175, 0.002) << "with many items as the normal distribution, z = 99 / sqrt(4000)";
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
  for (std::int64_t n = 1; n <= 100; ++n) {
    EXPECT_GE(wilson(0, n).low, 0) << n;
    EXPECT_LE(wilson(n, n).high, 1) << n;
  }
  const Interval some = wilson(70, 200);
  for (const double end : {some.low, some.high}) {
    EXPECT_NEAR(std::abs(end - 0.35), 1.959963984540054 * std::sqrt(end * (1 - end) / 200), 1e-12);
  }
}

// By hand; and the tails of a distribution are 1 together.
TEST(Significance, BinomialTest) {
  EXPECT_NEAR(binomial_test(9, 10, 0.5), 11.0 / 1024, 1e-14);
  EXPECT_NEAR(binomial_test(1, 2, 0.25), 7.0 / 16, 1e-14);
  EXPECT_EQ(binomial_test(0, 0, 0.5), 1);
  EXPECT_NEAR(binomial_test(0, 30, 0.1), 1, 1e-12);
  EXPECT_NEAR(binomial_test(700, 2000, 0.35) + binomial_test(1301, 2000, 0.65), 1, 1e-10);
}

}  // namespace
}  // namespace attend::metrics
