// Labelled texts out of the files of a task: one or two texts and what is to be said of them. Spans and tags have
// readers of their own, squad.hpp and conll.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/task/labelled_task.hpp"

namespace attend {

struct LabelledText {
  std::uint64_t line = 0;  // of the file, from 1
  std::string first = {};
  std::optional<std::string> second = {};  // where the task reads two
  std::vector<double> targets = {};  // classification: the number of the label; multi-label: 0 or 1 for every label;
                                     // regression: the number; empty where the file has no labels
};

// The texts of a file. `task.labels` must be known unless it is a regression. UserError naming file and line for
// what TableReader refuses, a label that is none, labels that are hidden (-1), a number that is none or not finite, a
// text that is empty, and for a file without texts; rows that the task passes over are counted in a warning. Where the
// labels are not read, the columns are test-text, if the task has that.
std::vector<LabelledText> read_labelled_texts(const std::string& file, const LabelledTask& task, Labelled labelled);

// The labels that occur in a file: in order of their numbers where all are numbers, else of their names. UserError as
// above, and where there is one alone.
std::vector<std::string> labels_in(const std::string& file, const LabelledTask& task);

// FOLDER/name, "a|b" being the first that exists; nothing where the last alternative is empty and none exists.
// UserError naming all of them otherwise.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder, const std::string& name);

}  // namespace attend
