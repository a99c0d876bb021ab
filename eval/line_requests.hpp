// Requests for the translations of an input: for each line, a prefix and phrases that must occur; for all lines,
// phrases that must not occur. The former take precedence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/search/hypothesis.hpp"
#include "eval/search/search.hpp"

namespace attend {

// Runs with --reverse-target translate from the last word to the first.
inline constexpr Fact kTranslationFrom{"translation from"};
inline constexpr std::string_view kFirstToLast = "the first word to the last",
                                  kLastToFirst = "the last word to the first";

struct LineRequestConfig {
  std::string prefix = {};
  std::string constraints = {};
  std::string forbid = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Words that must or must not occur", {kTranslationFrom, {kFirstToLast}});
    visit("prefix", self.prefix,
          {.help = "file with a line for each input line, which may be blank: the translation begins with it",
           .file = FileUse::read});
    visit("constraints", self.constraints,
          {.help =
               "file with a line for each input line: phrases, separated by tabs, that must occur in the "
               "translation, each as after a space; needs a beam of 2, and works best with more than the pieces of the "
               "phrases",
           .file = FileUse::read,
           .only = {kDecodingBy, {kBySearch}}});
    visit("forbid", self.forbid,
          {.help =
               "file of words or phrases, one per line, that must not occur in any translation, in the pieces into "
               "which the tokenizer splits them; in text without spaces between words, only at its beginning and after "
               "punctuation",
           .file = FileUse::read});
  }
  // UserError for contradictory options.
  void validate(const OptionOrigins& origins, const SearchConfig& search) const;
  bool any() const { return !prefix.empty() || !constraints.empty() || !forbid.empty(); }
};

// The files, read and encoded.
class LineRequests {
 public:
  // UserError naming file and line if a prefix or constraint has pieces that the vocabulary lacks. A forbidden phrase
  // with such pieces cannot occur and is skipped.
  LineRequests(const LineRequestConfig& config, const Tokenizer& tokenizer);

  // UserError unless the files have a line for each of the lines of the input.
  void check_count(std::int64_t lines) const;
  // UserError naming file and line if the files end before line `line` of the input, counted from 0, or if its prefix
  // and constraints need more than `longest` pieces; 0: the line is blank and not translated.
  void check(std::int64_t line, std::int64_t longest) const;
  // Adds the requests for `wanted.line`. This must outlive `wanted`.
  void add_to(Wanted& wanted) const;

 private:
  LineRequestConfig config_;
  std::vector<std::vector<std::int32_t>> prefixes_;  // of each line
  std::vector<std::vector<PhraseIds>> constraints_;  // of each line
  ForbiddenPhrases forbidden_;
};

}  // namespace attend
