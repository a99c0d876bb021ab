#include "analysis/pair_tests.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "analysis/compare.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "eval/forced_decoding.hpp"

namespace attend {

metrics::Resamples resamples_for(std::size_t segments, std::size_t tests) {
  constexpr std::size_t kFewest = 1000, kOfTest = 40;  // no p-value is below 1 / samples
  return metrics::draw_resamples(segments, std::max(kFewest, kOfTest * tests));
}

metrics::Rows rows_of(const std::vector<SentenceLoss>& losses) {
  metrics::Rows rows(kMean);
  for (const SentenceLoss& sentence : losses) {
    if (sentence.pieces == 0) continue;
    rows.append(std::vector<double>{sentence.loss, static_cast<double>(sentence.pieces)});
  }
  return rows;
}

ScoredOutput with_resamples(metrics::Rows rows, const metrics::Resamples& samples) {
  ScoredOutput output{.value = rows.value(), .segments = rows.size(), .resampled = metrics::resampled(rows, samples)};
  output.rows = std::move(rows);
  return output;
}

ScoredOutput scored_by(const NamedMeasure& measure, bool is_share_of_right, std::size_t records,
                       const metrics::Resamples& samples) {
  std::vector<std::size_t> chosen(records);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  ScoredOutput scored{.value = 100 * measure.of(chosen), .segments = records, .resampled = {}};
  if (is_share_of_right) {
    for (const std::size_t& i : chosen) scored.right.push_back(measure.of({&i, 1}) == 1);
  }
  for (const std::vector<std::uint32_t>& sample : samples) {
    std::ranges::copy(sample, chosen.begin());
    scored.resampled.push_back(100 * measure.of(chosen));
  }
  return scored;
}

Estimate estimate_of(const ScoredOutput& output) {
  const metrics::Interval interval = metrics::interval_of(output.resampled, output.segments);
  return {.value = output.value, .low = interval.low, .high = interval.high};
}

Estimate estimate_over(std::size_t n, const std::function<double(std::span<const std::size_t>)>& number) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const metrics::Interval interval = metrics::bootstrap(n, number);
  return {.value = number(all), .low = interval.low, .high = interval.high};
}

TestedChange change_between(const ScoredOutput& before, const ScoredOutput& after) {
  const std::size_t segments = before.segments;
  std::vector<double> changes(before.resampled.size());
  std::ranges::transform(after.resampled, before.resampled, changes.begin(), std::minus());
  const double change = after.value - before.value;
  const metrics::Interval interval = metrics::interval_of(std::move(changes), segments);
  const double p = metrics::paired_bootstrap(before.resampled, after.resampled, change, segments);
  return {.change = {change, interval.low, interval.high},
          .p = p,
          .p_is_least = p <= metrics::least_p(before.resampled.size())};
}

PairedChanges::PairedChanges(const metrics::Rows& before, std::size_t count)
    : samples_(resamples_for(before.size(), count)), before_(with_resamples(before, samples_)) {}

std::vector<TestedChange> PairedChanges::tested() const {
  std::vector<TestedChange> result = changes_;
  metrics::correct_by_holm(result, &TestedChange::p);
  return result;
}

namespace {

using Scored = std::vector<std::vector<ScoredOutput>>;

// Missing unless both systems have several seeds, and few enough to permute.
std::optional<SeedTest> test_over_seeds(const SystemRuns& a, const SystemRuns& b, std::size_t metric,
                                        const Scored& scored) {
  const auto values_of = [&](const SystemRuns& system) {
    std::vector<double> values;
    for (const std::size_t run : system.runs) values.push_back(scored[run][metric].value);
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

// McNemar's test of two systems by the items that each gets right.
ContrastTest mcnemars_test(const std::vector<bool>& right_a, const std::vector<bool>& right_b) {
  ContrastTest test;
  for (std::size_t i = 0; i < right_a.size(); ++i) {
    test.only_a += right_a[i] && !right_b[i];
    test.only_b += right_b[i] && !right_a[i];
  }
  test.p = metrics::mcnemar(test.only_a, test.only_b);
  return test;
}

PairTest test_of(const ScoredOutput& a, const ScoredOutput& b, const metrics::Exchanges& exchanges) {
  const TestedChange tested = change_between(a, b);
  PairTest test{.metric = {}, .difference = tested.change};
  if (!a.right.empty()) {
    test.p_mcnemar = mcnemars_test(a.right, b.right).p;
    return test;
  }
  test.p_bootstrap = tested.p;
  if (a.rows) test.p_randomisation = metrics::approximate_randomisation(*a.rows, *b.rows, exchanges);
  const std::size_t samples = a.rows ? std::min(a.resampled.size(), exchanges.size()) : a.resampled.size();
  test.p_is_least = test.p_range().second <= metrics::least_p(samples);
  return test;
}

// Holm's correction over the pairs of one metric: metrics of one output agree too much to count as tests of their own.
void correct_for_several(std::vector<PairTest>& all, const std::string& metric) {
  auto tests = all | std::views::filter([&](const PairTest& test) { return test.metric == metric; });
  metrics::correct_by_holm(tests, [](const PairTest& test) { return test.p_range().second; });
  auto over_seeds = tests | std::views::filter([](const PairTest& test) { return test.seeds.has_value(); }) |
                    std::views::transform([](PairTest& test) -> SeedTest& { return *test.seeds; });
  metrics::correct_by_holm(over_seeds, &SeedTest::p);
}

}  // namespace

std::vector<PairTest> test_pairs(const std::vector<SystemRuns>& systems, const Scored& scored,
                                 const std::vector<ComparedMetric>& compared) {
  const metrics::Exchanges exchanges = metrics::draw_exchanges(scored[0][0].rows ? scored[0][0].segments : 0);
  std::vector<PairTest> tests;
  for (std::size_t a = 0; a < systems.size(); ++a) {
    for (std::size_t b = a + 1; b < systems.size(); ++b) {
      for (std::size_t metric = 0; metric < compared.size(); ++metric) {
        refuse_if_stopped();
        PairTest& test = tests.emplace_back(
            test_of(scored[systems[a].runs[0]][metric], scored[systems[b].runs[0]][metric], exchanges));
        test.a = a;
        test.b = b;
        test.metric = compared[metric].name;
        test.lower_is_better = compared[metric].lower_is_better;
        test.decimals = std::max(compared[metric].decimals, 2);
        test.seeds = test_over_seeds(systems[a], systems[b], metric, scored);
      }
    }
  }
  for (const ComparedMetric& metric : compared) correct_for_several(tests, metric.name);
  return tests;
}

namespace {

// score_all(progress) scores the better and the worse sentence of each pair, in order.
template <class ScoreAll>
std::vector<PairLogProbs> scores_of_pairs(std::size_t pairs, const ScoreAll& score_all) {
  WorkProgress progress({.unit = "sentences", .total = static_cast<std::int64_t>(2 * pairs)});
  const std::vector<TextScore> scores = score_all(&progress);
  std::vector<PairLogProbs> result;
  for (std::size_t i = 0; i < scores.size(); i += 2) result.push_back({scores[i].log_prob(), scores[i + 1].log_prob()});
  return result;
}

// Of a system with a model; all such systems score the same pairs.
void add_accuracy(ContrastAccuracy& shown, std::size_t system, std::size_t systems, const ContrastTally& tally) {
  const metrics::Interval interval = tally.interval();
  shown.pairs = tally.pairs;
  shown.values.resize(systems);
  shown.values[system] =
      Estimate{.value = 100 * tally.accuracy(), .low = 100 * interval.low, .high = 100 * interval.high};
}

}  // namespace

std::vector<PairsFile> read_pairs_files(const std::vector<std::string>& files, PairsOf what) {
  std::vector<PairsFile> read;
  for (const std::string& file : files) read.push_back({.name = file, .pairs = read_minimal_pairs(file, what)});
  return read;
}

std::vector<PairLogProbs> score_each(const TranslationRun& run, std::span<const MinimalPair> pairs,
                                     const ScoreConfig& config) {
  return scores_of_pairs(pairs.size(), [&](WorkProgress* progress) {
    return score(run, sources_of(pairs), sentences_of(pairs), config, progress);
  });
}

std::vector<PairLogProbs> score_each(const LanguageRun& run, std::span<const MinimalPair> pairs,
                                     const ScoreConfig& config) {
  return scores_of_pairs(
      pairs.size(), [&](WorkProgress* progress) { return score_language(run, sentences_of(pairs), config, progress); });
}

ContrastSet contrast_set(const PairsFile& file, const std::vector<std::optional<std::vector<PairLogProbs>>>& systems) {
  ContrastSet set{.file = file.name};
  std::vector<std::vector<bool>> right(systems.size());  // of each pair
  for (std::size_t s = 0; s < systems.size(); ++s) {
    if (!systems[s]) continue;
    ensure(systems[s]->size() == file.pairs.size(), "a system scores every pair");
    ContrastTable table;
    for (std::size_t i = 0; i < file.pairs.size(); ++i) {
      const auto& [better, worse] = (*systems[s])[i];
      right[s].push_back(table.add(better, worse, file.pairs[i].kind, file.pairs[i].distance));
    }
    add_accuracy(set.all, s, systems.size(), table.all);
    for (const auto& [kind, tally] : table.kinds) add_accuracy(set.kinds[kind], s, systems.size(), tally);
    for (const auto& [distance, tally] : table.distances) {
      add_accuracy(set.distances[distance], s, systems.size(), tally);
    }
  }
  for (std::size_t a = 0; a < systems.size(); ++a) {
    for (std::size_t b = a + 1; b < systems.size(); ++b) {
      if (!systems[a] || !systems[b]) continue;
      ContrastTest& test = set.tests.emplace_back(mcnemars_test(right[a], right[b]));
      test.a = static_cast<std::int64_t>(a);
      test.b = static_cast<std::int64_t>(b);
    }
  }
  metrics::correct_by_holm(set.tests, &ContrastTest::p);
  return set;
}

}  // namespace attend
