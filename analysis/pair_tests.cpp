#include "analysis/pair_tests.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>

#include "eval/metrics/significance.hpp"

namespace attend {
namespace {

using Scored = std::vector<std::vector<ScoredOutput>>;

// Missing unless both systems have several seeds, and few enough to permute.
std::optional<SeedTest> test_over_seeds(const SystemRuns& a, const SystemRuns& b, std::size_t metric,
                                        const Scored& scored) {
  const auto values_of = [&](const SystemRuns& system) {
    std::vector<double> values;
    for (const std::size_t run : system.runs) values.push_back(scored[run][metric].rows.value());
    return values;
  };
  const auto has_seeds = [](const SystemRuns& system) {
    return system.runs.size() >= 2 && system.runs.size() <= metrics::kMostPermuted;
  };
  if (!has_seeds(a) || !has_seeds(b)) return std::nullopt;
  const std::vector<double> of_a = values_of(a), of_b = values_of(b);
  return SeedTest{.difference = spread_of(of_b).mean - spread_of(of_a).mean,
                  .p = metrics::permutation_test(of_a, of_b)};
}

PairTest test_of(const ScoredOutput& a, const ScoredOutput& b, const metrics::Exchanges& exchanges) {
  const TestedChange tested = change_between(a, b);
  const double p = metrics::approximate_randomisation(a.rows, b.rows, exchanges);
  const double least = metrics::least_p(std::min(a.resampled.size(), exchanges.size()));
  return {.metric = a.rows.measure().name(),
          .difference = tested.change,
          .p_bootstrap = tested.p,
          .p_randomisation = p,
          .p_is_least = std::max(tested.p, p) <= least};
}

// Holm's correction over the pairs of one metric: metrics of one output agree too much to count as tests of their own.
void correct_for_several(std::vector<PairTest>& all, const std::string& metric) {
  auto tests = all | std::views::filter([&](const PairTest& test) { return test.metric == metric; });
  metrics::correct_by_holm(tests,
                           [](const PairTest& test) { return std::max(test.p_bootstrap, test.p_randomisation); });
  auto over_seeds = tests | std::views::filter([](const PairTest& test) { return test.seeds.has_value(); }) |
                    std::views::transform([](PairTest& test) -> SeedTest& { return *test.seeds; });
  metrics::correct_by_holm(over_seeds, &SeedTest::p);
}

}  // namespace

std::vector<PairTest> test_pairs(const std::vector<SystemRuns>& systems, const Scored& scored,
                                 const std::vector<ComparedMetric>& compared) {
  const metrics::Exchanges exchanges = metrics::draw_exchanges(scored[0][0].rows.size());
  std::vector<PairTest> tests;
  for (std::size_t a = 0; a < systems.size(); ++a) {
    for (std::size_t b = a + 1; b < systems.size(); ++b) {
      for (std::size_t metric = 0; metric < compared.size(); ++metric) {
        refuse_if_stopped();
        PairTest& test = tests.emplace_back(
            test_of(scored[systems[a].runs[0]][metric], scored[systems[b].runs[0]][metric], exchanges));
        test.a = static_cast<std::int64_t>(a);
        test.b = static_cast<std::int64_t>(b);
        test.lower_is_better = compared[metric].lower_is_better;
        test.decimals = std::max(compared[metric].decimals, 2);
        test.seeds = test_over_seeds(systems[a], systems[b], metric, scored);
      }
    }
  }
  for (const ComparedMetric& metric : compared) correct_for_several(tests, metric.name);
  return tests;
}

}  // namespace attend
