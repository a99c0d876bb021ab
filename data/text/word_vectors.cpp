#include "data/text/word_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/number.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

// A line split at its first space: "dog 0.5 -1" into "dog" and "0.5 -1".
struct Entry {
  std::string_view word;
  std::string_view numbers;
};

std::int64_t count_fields(std::string_view text) { return text.empty() ? 0 : std::ranges::count(text, ' ') + 1; }

Entry split(std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  return {.word = line.substr(0, space), .numbers = line.substr(std::min(space + 1, line.size()))};
}

std::string_view first_field(std::string_view text) { return text.substr(0, text.find(' ')); }

}  // namespace

// Reads one file in a single pass.
class WordVectors::Reader {
 public:
  Reader(const std::string& file, std::int64_t width) : lines_(file), file_(name_of_input(file)) {
    result_.width_ = width;
  }

  WordVectors read(const std::function<bool(std::string_view)>& wanted) {
    while (next_line()) {
      if (lines_.counts().lines == 1 && is_header()) continue;
      ++num_vectors_;
      const std::optional<Entry> entry = entry_of_line();
      if (entry && wanted(entry->word)) add(*entry);
    }
    check_count();
    return std::move(result_);
  }

 private:
  bool next_line() {
    if (!lines_.next(line_)) return false;
    line_.resize(line_.find_last_not_of(" \t") + 1);  // fastText ends its lines with a space
    return true;
  }

  [[noreturn]] void refuse(const std::string& found, const std::string& remedy) const {
    throw UserError(lines_.place() + ": " + found, remedy);
  }

  [[noreturn]] void refuse_width(std::int64_t found) const {
    refuse(std::to_string(found) + " numbers per word, expected " + std::to_string(result_.width_) +
               ", the width of the embeddings",
           "set --width " + std::to_string(found) + ", or choose vectors of the model's width");
  }

  // True for a first line "COUNT WIDTH"; a vector has at least two numbers.
  bool is_header() {
    if (count_fields(line_) != 2) return false;
    const Entry fields = split(line_);
    const auto count = parse_number<std::int64_t>(fields.word), width = parse_number<std::int64_t>(fields.numbers);
    if (!count || !width) return false;
    if (*width != result_.width_) refuse_width(*width);
    promised_ = *count;
    return true;
  }

  // Returns nullopt if the word is a space or contains one. Throws UserError if the count of numbers is wrong.
  std::optional<Entry> entry_of_line() const {
    const Entry entry = split(line_);
    const std::int64_t count = count_fields(entry.numbers);
    if (count == result_.width_) return entry.word.empty() ? std::nullopt : std::optional(entry);
    if (num_vectors_ == 1 && count > 0) refuse_width(count);
    if (count > result_.width_ && !parse_number<double>(first_field(entry.numbers))) return std::nullopt;
    refuse("a word and " + std::to_string(count) + " numbers, expected " + std::to_string(result_.width_),
           "restore the line, or download the file again: every line is a word and its numbers, separated by single "
           "spaces");
  }

  void add(const Entry& entry) {
    if (!result_.rows_.emplace(entry.word, result_.rows_.size()).second) {
      refuse("the word \"" + std::string(entry.word) + "\" is a duplicate", "remove one of them");
    }
    for (std::string_view rest = entry.numbers; !rest.empty();) {
      const std::string_view field = first_field(rest);
      const auto number = parse_number<double>(field);
      const auto stored = static_cast<float>(number.value_or(std::numeric_limits<double>::infinity()));
      if (!std::isfinite(stored)) {
        refuse("\"" + std::string(field) + "\" in the vector of \"" + std::string(entry.word) +
                   "\", expected a finite number",
               "correct the line, or download the file again");
      }
      result_.numbers_.push_back(stored);
      rest.remove_prefix(std::min(field.size() + 1, rest.size()));
    }
  }

  void check_count() const {
    if (num_vectors_ == 0)
      throw UserError(file_ + ": no vectors, expected a word and its numbers on each line",
                      "check that it is the right file");
    if (promised_.value_or(num_vectors_) == num_vectors_) return;
    throw UserError(file_ + ": " + std::to_string(num_vectors_) + " vectors, but its first line states " +
                        std::to_string(*promised_),
                    "the file is probably truncated: download it again, or correct its first line");
  }

  LineReader lines_;
  std::string file_;
  std::string line_;
  std::int64_t num_vectors_ = 0;
  std::optional<std::int64_t> promised_;
  WordVectors result_;
};

WordVectors WordVectors::read(const std::string& file, std::int64_t width,
                              const std::function<bool(std::string_view)>& wanted) {
  return Reader(file, width).read(wanted);
}

const float* WordVectors::find(const std::string& word) const {
  const auto row = rows_.find(word);
  return row == rows_.end() ? nullptr : numbers_.data() + row->second * static_cast<std::size_t>(width_);
}

}  // namespace attend
