// The accuracy of systems on minimal pairs (data/text/minimal_pairs.hpp), and a test for each pair of systems.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "data/text/minimal_pairs.hpp"
#include "eval/score.hpp"
#include "models/run/language_run.hpp"
#include "models/run/run.hpp"

namespace attend {

struct PairsFile {
  std::string name;
  std::vector<MinimalPair> pairs;
};

// UserError as read_minimal_pairs.
std::vector<PairsFile> read_pairs_files(const std::vector<std::string>& files, PairsOf what);

// log p of a pair's sentences; of translations, given the source.
struct PairLogProbs {
  double better = 0;
  double worse = 0;
};

// Of every pair, in order. Interrupted after SIGINT or SIGTERM.
std::vector<PairLogProbs> score_each(const Run& run, std::span<const MinimalPair> pairs, const ScoreConfig& config);
std::vector<PairLogProbs> score_each(const LanguageRun& run, std::span<const MinimalPair> pairs,
                                     const ScoreConfig& config);

// The results on a file, from each system's scores of its pairs (none for a system without a model).
ContrastSet contrast_set(const PairsFile& file, const std::vector<std::optional<std::vector<PairLogProbs>>>& systems);

}  // namespace attend
