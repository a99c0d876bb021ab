// Groups runs into systems: runs that differ only in their seeds are one system. Differences between systems, and notes
// that a reader needs before comparing them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/trained_run.hpp"

namespace attend {

// An option of a run, as text.
struct RecordedOption {
  std::string name;
  OptionPart part = OptionPart::conditions;
  std::string value;
  std::string usual;    // the default
  bool matters = true;  // applies to the run, and may change a score
};

// What makes runs comparable or not, whatever kind of model they have.
struct RunConditions : TrainingRecord {
  std::string family = {};                             // "luong"
  std::string description = {};                        // "luong: lstm, general, global, soft"
  std::vector<RecordedOption> options = {};            // in the order of declaration
  std::vector<std::string> train = {}, valid = {};     // files
  std::string vocabulary = {}, vocabulary_hash = {};   // "8000 pieces, learnt from train.de"
  std::string validation = {}, validation_value = {};  // another condition of its losses, and its value
  bool predicts_pieces = true;                         // of its vocabulary, on which losses depend
};
RunConditions conditions_of(const TrainedRun& run);
RunConditions conditions_of(const TrainedLanguageRun& run);
RunConditions conditions_of(const TrainedBertRun& run);
RunConditions conditions_of(const TrainedTextRun& run);

template <class SomeRun>
std::vector<RunConditions> conditions_of(const std::vector<SomeRun>& runs) {
  std::vector<RunConditions> all(runs.size());
  std::ranges::transform(runs, all.begin(), [](const SomeRun& run) { return conditions_of(run); });
  return all;
}

// A system before anything is measured; its runs are indices, ascending.
struct SystemRuns {
  std::string name;         // given, or the name of the directory where that is unique, else its path
  std::string description;  // "luong: lstm, general, global, soft"
  std::vector<std::size_t> runs;
};

// In the order of their first runs. UserError if a run is given twice.
std::vector<SystemRuns> group_by_configuration(const std::vector<RunConditions>& runs);

// Replaces the names of the systems; no names leave them as they are. UserError unless there is one for each system.
void rename_systems(std::vector<SystemRuns>& systems, const std::vector<std::string>& names);

// The options that matter to some system and differ between systems. "-" where a system does not have the option.
std::vector<OptionDifference> option_differences(const std::vector<RunConditions>& runs,
                                                 const std::vector<SystemRuns>& systems);

// Of the systems whose training is recorded.
std::vector<LearningRate> learning_rates_of(const std::vector<RunConditions>& runs,
                                            const std::vector<SystemRuns>& systems);

// True if the runs have the same vocabularies and validated on the same text in the same way.
bool have_comparable_losses(const RunConditions& a, const RunConditions& b);

bool have_equal_vocabularies(const std::vector<RunConditions>& runs);

// Why the files that the run names as its training text cannot be used as that text: not recorded, missing, or changed
// since. Empty if they can.
std::string fault_of_training_text(const RunConditions& run);

// Sentences about conditions that differ, between systems and within them, and about facts that were not recorded.
// `test` is the source and the target file of the test set, or empty.
std::vector<std::string> notes_on_conditions(const std::vector<RunConditions>& runs,
                                             const std::vector<SystemRuns>& systems,
                                             const std::vector<std::string>& test, const Units& units = {});

// The best validation loss of each system, and where every system passed it; none without comparable losses.
std::vector<LevelReached> levels_reached(const std::vector<RunConditions>& runs, const std::vector<System>& systems);

}  // namespace attend
