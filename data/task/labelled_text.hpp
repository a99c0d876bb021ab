// Reads labelled texts (one or two texts and their label) from the files of a task. Spans and tags are read by
// squad.hpp and conll.hpp.
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
  std::optional<std::string> second = {};  // if the task reads two texts
  std::vector<double> targets = {};  // classification: the index of the label; multi-label: 0 or 1 for every label;
                                     // regression: the number; empty if the file has no labels
};

// The texts of a file. `task.labels` must be known, except for regression. UserError naming file and line as
// TableReader, and for an unknown label, hidden labels (-1), an invalid or non-finite number, an empty text, and a file
// without texts; skipped rows are counted in a warning. If labels are not read, test-text overrides the text columns.
std::vector<LabelledText> read_labelled_texts(const std::string& file, const LabelledTask& task, Labelled labelled);

// The labels that occur in a file, sorted as numbers if all are numbers, else by name. UserError as above, and if there
// is only one.
std::vector<std::string> labels_in(const std::string& file, const LabelledTask& task);

// FOLDER/name, "a|b" being the first that exists. If none exists: empty if the last alternative is empty, else a
// UserError naming all of them.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder, const std::string& name);

}  // namespace attend
