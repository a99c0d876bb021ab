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

class VectorReader {
 public:
  explicit VectorReader(const std::filesystem::path& path) : name_(name_of_input(path)), lines_(path) {}

  WordVectors read(std::int64_t most) {
    std::optional<VectorCount> stated;
    bool is_whole = true;
    std::int64_t num_rows = 0;
    for (std::string line; lines_.next(line);) {
      line.erase(line.find_last_not_of(' ') + 1);  // word2vec and fastText write one after the last number
      const std::vector<std::string> fields = split_at(line, ' ');
      if (lines_.counts().lines == 1) {
        stated = vector_count(fields);
        vectors_.width = stated ? stated->width : std::ssize(fields) - 1;
        if (vectors_.width == 0) refuse("\"" + line + "\" has no numbers");
        if (stated) continue;
      }
      is_whole = std::ssize(vectors_.words) < most;
      if (!is_whole) break;
      add(fields);
      ++num_rows;
    }
    if (num_rows == 0) throw UserError(name_ + ": no vectors", kVectorRemedy);
    if (stated && is_whole && num_rows != stated->count) {
      throw UserError(
          fmt::format("{}: {}, but its first line says {}", name_, counted(num_rows, "vector"), stated->count),
          "the file may be cut off; fetch it again, or correct its first line");
    }
    if (const std::int64_t num_left_out = num_rows - std::ssize(vectors_.words); num_left_out > 0) {
      log::warn("{}: {} left out, blank or repeated", name_, counted(num_left_out, "word"));
    }
    return std::move(vectors_);
  }

 private:
  void add(const std::vector<std::string>& fields) {
    const std::size_t num_words = std::max<std::int64_t>(std::ssize(fields) - vectors_.width, 1);
    std::string word = fields[0];
    bool has_number = false;
    for (std::size_t i = 1; i < num_words; ++i) {
      word += ' ' + fields[i];
      has_number |= parse_number<double>(fields[i]).has_value();
    }
    if (has_number || std::ssize(fields) <= vectors_.width) {
      refuse(fmt::format("{}, expected {}", counted(std::ssize(fields) - 1, "value"), vectors_.width));
    }
    const std::size_t before = vectors_.values.size();
    for (std::size_t i = num_words; i < fields.size(); ++i) {
      const auto value = vector_component(fields[i]);
      if (!value) {
        refuse(
            fmt::format("value {} of \"{}\" is \"{}\", expected a finite number", i - num_words + 1, word, fields[i]));
      }
      vectors_.values.push_back(*value);
    }
    if (is_blank(word) || !known_.insert(word).second) return vectors_.values.resize(before);
    vectors_.words.push_back(std::move(word));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw UserError(lines_.place() + ": " + what, kVectorRemedy);
  }

  std::string name_;
  LineReader lines_;
  WordVectors vectors_;
  std::unordered_set<std::string> known_;
};

}  // namespace

WordVectors read_word_vectors(const std::filesystem::path& path, std::int64_t most) {
  return VectorReader(path).read(most);
}

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
