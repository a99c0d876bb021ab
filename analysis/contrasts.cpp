#include "analysis/contrasts.hpp"

#include "core/error.hpp"
#include "core/progress.hpp"
#include "eval/language_score.hpp"
#include "eval/metrics/significance.hpp"
#include "eval/score_tally.hpp"

namespace attend {
namespace {

WorkProgress progress_of(std::span<const MinimalPair> pairs) {
  return WorkProgress({.unit = "sentences", .total = 2 * std::ssize(pairs)});
}

// From the scores of the better and the worse sentence of each pair.
template <class Score>
std::vector<PairLogProbs> of_each_two(const std::vector<Score>& scores) {
  std::vector<PairLogProbs> pairs;
  for (std::size_t i = 0; i < scores.size(); i += 2) pairs.push_back({scores[i].log_prob(), scores[i + 1].log_prob()});
  return pairs;
}

// Of a system with a model; all such systems score the same pairs.
void add_accuracy(ContrastAccuracy& shown, std::size_t system, std::size_t systems, const ContrastTally& tally) {
  const metrics::Interval interval = tally.interval();
  shown.pairs = tally.pairs;
  shown.values.resize(systems);
  shown.values[system] =
      Estimate{.value = 100 * tally.accuracy(), .low = 100 * interval.low, .high = 100 * interval.high};
}

ContrastTest mcnemars_test(std::size_t a, std::size_t b, const std::vector<bool>& right_a,
                           const std::vector<bool>& right_b) {
  ContrastTest test{.a = static_cast<std::int64_t>(a), .b = static_cast<std::int64_t>(b)};
  for (std::size_t i = 0; i < right_a.size(); ++i) {
    test.only_a += right_a[i] && !right_b[i];
    test.only_b += right_b[i] && !right_a[i];
  }
  test.p = metrics::mcnemar(test.only_a, test.only_b);
  return test;
}

}  // namespace

std::vector<PairsFile> read_pairs_files(const std::vector<std::string>& files, PairsOf what) {
  std::vector<PairsFile> read;
  for (const std::string& file : files) read.push_back({.name = file, .pairs = read_minimal_pairs(file, what)});
  return read;
}

std::vector<PairLogProbs> score_each(const Run& run, std::span<const MinimalPair> pairs, const ScoreConfig& config) {
  WorkProgress progress = progress_of(pairs);
  const std::vector<TargetScore> scores = score(run, sources_of(pairs), sentences_of(pairs), config, &progress);
  progress.clear();
  return of_each_two(scores);
}

std::vector<PairLogProbs> score_each(const LanguageRun& run, std::span<const MinimalPair> pairs,
                                     const ScoreConfig& config) {
  WorkProgress progress = progress_of(pairs);
  const std::vector<LanguageScore> scores = score_language(run, sentences_of(pairs), config, &progress);
  progress.clear();
  return of_each_two(scores);
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
      if (systems[a] && systems[b]) set.tests.push_back(mcnemars_test(a, b, right[a], right[b]));
    }
  }
  metrics::correct_by_holm(set.tests, &ContrastTest::p);
  return set;
}

}  // namespace attend
