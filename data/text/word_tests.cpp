#include "data/text/word_tests.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <string_view>

#include "core/error.hpp"
#include "core/number.hpp"
#include "data/text/lines.hpp"
#include "data/text/table.hpp"

namespace attend {
namespace {

constexpr const char* kAnalogyRemedy = "write \": section\" before the questions, and each as four words \"a b c d\"";
constexpr const char* kRatedRemedy = "write lines \"word TAB word TAB score\"; a line that begins with # is a comment";

}  // namespace

std::vector<AnalogySection> read_analogies(const std::filesystem::path& path) {
  LineReader reader(path);
  std::vector<AnalogySection> sections;
  bool has_questions = false;
  for (std::string line; reader.next(line);) {
    if (is_blank(line)) continue;
    if (line.starts_with(':')) {
      sections.push_back({.name = trimmed(line.substr(1))});
      continue;
    }
    const std::vector<std::string_view> words = spaced_words(line);
    if (words.size() != 4) {
      throw UserError(fmt::format("{}: {}, expected 4", reader.place(), counted(std::ssize(words), "word")),
                      kAnalogyRemedy);
    }
    if (sections.empty()) throw UserError(reader.place() + ": a question before the first section", kAnalogyRemedy);
    std::ranges::copy(words, sections.back().questions.emplace_back().begin());
    has_questions = true;
  }
  if (!has_questions) throw UserError(name_of_input(path) + ": no questions", kAnalogyRemedy);
  reader.counts().log(path.string());
  return sections;
}

std::vector<RatedPair> read_rated_pairs(const std::filesystem::path& path) {
  LineReader reader(path);
  std::vector<RatedPair> pairs;
  for (std::string line; reader.next(line);) {
    if (is_blank(line) || line.starts_with('#')) continue;
    const std::vector<std::string> fields = split_at(line, '\t');
    if (fields.size() != 3) {
      throw UserError(
          fmt::format("{}: {}, expected 3", reader.place(), counted(std::ssize(fields), "tab-separated field")),
          kRatedRemedy);
    }
    RatedPair pair{.first = trimmed(fields[0]), .second = trimmed(fields[1])};
    if (pair.first.empty() || pair.second.empty()) {
      throw UserError(reader.place() + ": a word is blank", kRatedRemedy);
    }
    const auto score = parse_number<double>(trimmed(fields[2]));
    if (!score) {
      throw UserError(reader.place() + ": the score is \"" + fields[2] + "\", expected a finite number", kRatedRemedy);
    }
    pair.score = *score;
    pairs.push_back(std::move(pair));
  }
  if (pairs.empty()) throw UserError(name_of_input(path) + ": no pairs", kRatedRemedy);
  reader.counts().log(path.string());
  return pairs;
}

}  // namespace attend
