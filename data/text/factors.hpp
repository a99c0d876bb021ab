// Factors: labels of the words of a source text, such as parts of speech, in files beside it (Sennrich and Haddow 2016,
// W16-2209). Line n of a factor's file has one label for each word of line n of the text. Spaces and tabs separate
// words and labels.
//
//   text "a dog."    file of tags "DET NOUN"    file of cases "lower lower"
//
// Within the program, a line that is followed by its labels is one string, "a dog.\x1e" "DET NOUN\x1e" "lower lower".
// The text of a LineReader has no such separator.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "data/text/lines.hpp"

namespace attend {

struct FactorFiles {
  std::vector<std::string> source_factors;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit, const Condition& only = {}) {
    visit("source-factors", self.source_factors,
          {.help = "labels of the source words, such as parts of speech: a file for each factor, with a label for each "
                   "word, line by line",
           .placeholder = "FILE",
           .may_change = true,
           .only = only});
  }
};

// A line without the labels that follow it.
std::string_view text_of_line(std::string_view line);
// The labels of each factor; none if the line has none.
std::vector<std::vector<std::string_view>> labels_of_line(std::string_view line);

// Reads the files of factors beside a text.
class FactorReader {
 public:
  // Without files there are no labels. Throws UserError if a file cannot be read, or is standard input.
  explicit FactorReader(const std::vector<std::string>& files = {});

  // The labels of the next line, in the form in which they follow its `text`; empty without files. Throws UserError
  // naming the file and its line if there is not one label for each word.
  std::string next(std::string_view text);

  // Throws UserError if a file has more lines than the text, and logs what was cleaned in each.
  void finish();

 private:
  std::vector<std::string> files_;
  std::deque<LineReader> readers_;
  std::int64_t num_lines_ = 0;
};

}  // namespace attend
