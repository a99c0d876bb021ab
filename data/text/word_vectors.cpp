#include "data/text/word_vectors.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/text/table.hpp"

namespace attend {
namespace {

constexpr const char* kVectorRemedy =
    "write a word and the numbers of its vector on each line, separated by spaces, as GloVe and fastText do";
constexpr const char* kAnalogyRemedy = "write \": section\" before the questions, and each as four words \"a b c d\"";
constexpr const char* kRatedRemedy = "write lines \"word TAB word TAB score\"; a line that begins with # is a comment";

// Read as a double, so that a number that is too small for a float is 0.
std::optional<float> vector_component(std::string_view text) {
  const auto value = parse_number<double>(text);
  if (!value || std::abs(*value) > static_cast<double>(std::numeric_limits<float>::max())) return std::nullopt;
  return static_cast<float>(*value);
}

struct VectorCount {
  std::int64_t count = 0, width = 0;
};

// The first line of word2vec and fastText.
std::optional<VectorCount> vector_count(const std::vector<std::string>& fields) {
  if (fields.size() != 2) return std::nullopt;
  const auto count = parse_number<std::int64_t>(fields[0]), width = parse_number<std::int64_t>(fields[1]);
  if (!count || !width || *count < 1 || *width < 1) return std::nullopt;
  return VectorCount{.count = *count, .width = *width};
}

}  // namespace

WordVectors read_word_vectors(const std::filesystem::path& path, std::int64_t most) {
  const std::string name = name_of_input(path);
  LineReader lines(path);
  WordVectors vectors;
  std::unordered_set<std::string> known;
  const auto add = [&](const std::vector<std::string>& fields) {
    const std::size_t num_words = std::max<std::int64_t>(std::ssize(fields) - vectors.width, 1);
    std::string word = fields[0];
    bool has_number = false;
    for (std::size_t i = 1; i < num_words; ++i) {
      word += ' ' + fields[i];
      has_number |= parse_number<double>(fields[i]).has_value();
    }
    if (has_number || std::ssize(fields) <= vectors.width) {
      lines.refuse(fmt::format("{}, expected {}", counted(std::ssize(fields) - 1, "value"), vectors.width),
                   kVectorRemedy);
    }
    const std::size_t before = vectors.values.size();
    for (std::size_t i = num_words; i < fields.size(); ++i) {
      const auto value = vector_component(fields[i]);
      if (!value) {
        lines.refuse(
            fmt::format("value {} of \"{}\" is \"{}\", expected a finite number", i - num_words + 1, word, fields[i]),
            kVectorRemedy);
      }
      vectors.values.push_back(*value);
    }
    if (is_blank(word) || !known.insert(word).second) return vectors.values.resize(before);
    vectors.words.push_back(std::move(word));
  };
  std::optional<VectorCount> stated;
  bool is_whole = true;
  std::int64_t num_rows = 0;
  for (std::string line; lines.next(line);) {
    line.erase(line.find_last_not_of(' ') + 1);  // word2vec and fastText write one after the last number
    const std::vector<std::string> fields = split_at(line, ' ');
    if (lines.counts().lines == 1) {
      stated = vector_count(fields);
      vectors.width = stated ? stated->width : std::ssize(fields) - 1;
      if (vectors.width == 0) lines.refuse("\"" + line + "\" has no numbers", kVectorRemedy);
      if (stated) continue;
    }
    is_whole = std::ssize(vectors.words) < most;
    if (!is_whole) break;
    add(fields);
    ++num_rows;
  }
  if (num_rows == 0) throw UserError(name + ": no vectors", kVectorRemedy);
  if (stated && is_whole && num_rows != stated->count) {
    throw UserError(fmt::format("{}: {}, but its first line says {}", name, counted(num_rows, "vector"), stated->count),
                    "the file may be cut off; fetch it again, or correct its first line");
  }
  if (const std::int64_t num_left_out = num_rows - std::ssize(vectors.words); num_left_out > 0) {
    log::warn("{}: {} left out, blank or repeated", name, counted(num_left_out, "word"));
  }
  return vectors;
}

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
      reader.refuse(fmt::format("{}, expected 4", counted(std::ssize(words), "word")), kAnalogyRemedy);
    }
    if (sections.empty()) reader.refuse("a question before the first section", kAnalogyRemedy);
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
      reader.refuse(fmt::format("{}, expected 3", counted(std::ssize(fields), "tab-separated field")), kRatedRemedy);
    }
    RatedPair pair{.first = trimmed(fields[0]), .second = trimmed(fields[1])};
    if (pair.first.empty() || pair.second.empty()) reader.refuse("a word is blank", kRatedRemedy);
    const auto score = parse_number<double>(trimmed(fields[2]));
    if (!score) reader.refuse("the score is \"" + fields[2] + "\", expected a finite number", kRatedRemedy);
    pair.score = *score;
    pairs.push_back(std::move(pair));
  }
  if (pairs.empty()) throw UserError(name_of_input(path) + ": no pairs", kRatedRemedy);
  reader.counts().log(path.string());
  return pairs;
}

}  // namespace attend
