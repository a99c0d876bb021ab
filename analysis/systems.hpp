// Runs to systems: runs that differ in nothing but their seed are one system. What systems differ in, and what a reader
// must know before he compares them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/trained_run.hpp"

namespace attend {

// A system before anything is measured; its runs are numbers of `runs`, in their order.
struct SystemRuns {
  std::string name;         // the directory's name where that is unique, else its path
  std::string description;  // "luong: lstm, general, global, soft"
  std::vector<std::size_t> runs;
};

// In the order of their first runs. UserError if a run is given twice.
std::vector<SystemRuns> group_by_configuration(const std::vector<TrainedRun>& runs);

// The options that matter to some system and differ between systems. "-" where a system does not have the option.
std::vector<OptionDifference> option_differences(const std::vector<TrainedRun>& runs,
                                                 const std::vector<SystemRuns>& systems);

// Whether the runs have the same vocabularies and validation texts.
bool have_comparable_losses(const TrainedRun& a, const TrainedRun& b);

// In sentences: conditions that are not equal, and what was not recorded.
std::vector<std::string> notes_on_conditions(const std::vector<TrainedRun>& runs,
                                             const std::vector<SystemRuns>& systems);

}  // namespace attend
