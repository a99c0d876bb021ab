#include "analysis/given_scores.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "eval/metrics/tokenizers.hpp"

namespace attend {

GivenScores::GivenScores(std::string name, std::string file, std::size_t outputs, std::size_t sentences)
    : name_(std::move(name)), file_(std::move(file)) {
  const std::string expected = fmt::format(
      "give a line for each sentence of the test set, with a number for each run, then each --hypothesis, "
      "then each --search: {}",
      counted(static_cast<std::int64_t>(outputs), "number"));
  LineReader reader(file_);
  for (std::string line; reader.next(line);) {
    const std::string at = fmt::format("{}:{}", name_of_input(file_), scores_.size() + 1);
    std::vector<double>& scores = scores_.emplace_back();
    for (const std::string_view word : metrics::split_words(line)) {
      const std::optional<double> score = parse_number<double>(word);
      if (!score) throw UserError(fmt::format("{}: {} is not a finite number", at, word), expected);
      scores.push_back(*score);
    }
    if (scores.size() != outputs) {
      throw UserError(fmt::format("{}: {}, expected {}", at, counted(std::ssize(scores), "number"), outputs), expected);
    }
  }
  if (scores_.size() != sentences) {
    throw UserError(fmt::format("{}: {}, but the test set has {}", name_of_input(file_),
                                counted(std::ssize(scores_), "line"), sentences),
                    expected);
  }
}

metrics::Rows GivenScores::rows(std::size_t output) const {
  metrics::Rows rows(*this);
  for (const std::vector<double>& scores : scores_) rows.append(std::vector<double>{scores[output], 1});
  return rows;
}

int GivenScores::decimals() const {
  const auto is_large = [](const std::vector<double>& scores) {
    return std::ranges::any_of(scores, [](double score) { return std::abs(score) > 1; });
  };
  return std::ranges::any_of(scores_, is_large) ? 2 : 4;
}

}  // namespace attend
