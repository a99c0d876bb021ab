// Systems from runs: runs that differ only in their seeds are one system. Differences between systems, and notes that
// readers need before they compare them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/trained_run.hpp"

namespace attend {

// A system before anything is measured; its runs are numbers of `runs`, in their order.
struct SystemRuns {
  std::string name;         // given, or the name of the directory where that is unique, else its path
  std::string description;  // "luong: lstm, general, global, soft"
  std::vector<std::size_t> runs;
};

// In the order of their first runs. UserError if a run is given twice.
std::vector<SystemRuns> group_by_configuration(const std::vector<TrainedRun>& runs);

// Replaces the names of the systems; no names leave them as they are. UserError unless there is one for each system.
void rename_systems(std::vector<SystemRuns>& systems, const std::vector<std::string>& names);

// The options that matter to some system and differ between systems. "-" where a system does not have the option.
std::vector<OptionDifference> option_differences(const std::vector<TrainedRun>& runs,
                                                 const std::vector<SystemRuns>& systems);

// True if the runs have the same vocabularies and validated on the same pairs.
bool have_comparable_losses(const TrainedRun& a, const TrainedRun& b);

bool have_equal_vocabularies(const std::vector<TrainedRun>& runs);

// The reason why the files that the run names as its training text no longer are that text: missing, or changed since.
// Empty if they still are.
std::string fault_of_training_text(const TrainedRun& run);

// Sentences about conditions that differ, between systems and within them, and about facts that were not recorded.
// `test` are the files of the test set.
std::vector<std::string> notes_on_conditions(const std::vector<TrainedRun>& runs,
                                             const std::vector<SystemRuns>& systems,
                                             const std::vector<std::string>& test);

}  // namespace attend
