// The output of attend predict: answers to lines, and to a test file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "eval/answers/answers.hpp"

namespace attend {

// A line for each of `records`, the records of lines of text; nullopt for a blank line.
void print_lines(const TaskAnswers& answers, const std::vector<std::optional<std::int64_t>>& records, bool json);

// All records in the format of the leaderboard, or as a JSON object each.
void print_records(const TaskAnswers& answers, bool json);

}  // namespace attend
