#include "data/text/conll.hpp"

#include <set>
#include <sstream>

#include "core/error.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

bool is_tag(const std::string& tag) {
  return tag == "O" || (tag.size() > 2 && (tag[0] == 'B' || tag[0] == 'I') && tag[1] == '-');
}

// IOB1 and IOB2 alike: an I- that follows no chunk of its type begins one.
void to_iob2(std::vector<std::string>& tags) {
  std::string before = "O";
  for (std::string& tag : tags) {
    const std::string original = tag;
    if (tag[0] == 'I' && (before == "O" || before.substr(1) != tag.substr(1))) tag[0] = 'B';
    before = original;
  }
}

}  // namespace

std::vector<TaggedSentence> read_conll(const std::string& file, Labelled labelled) {
  const bool tagged = labelled == Labelled::yes;
  check_text_file(file);
  LineReader lines(file);
  std::vector<TaggedSentence> sentences;
  TaggedSentence sentence;
  std::int64_t document = 0;
  std::size_t columns = 0;
  const auto finish = [&] {
    if (sentence.tokens.empty()) return;
    to_iob2(sentence.tags);
    sentence.document = document;
    sentences.push_back(std::move(sentence));
    sentence = {};
  };
  for (std::string line; lines.next(line);) {
    const std::uint64_t number = lines.counts().lines;
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string field; words >> field;) fields.push_back(std::move(field));
    if (fields.empty()) {
      finish();
      continue;
    }
    if (fields[0] == "-DOCSTART-") {
      finish();
      document += !sentences.empty();
      continue;
    }
    const std::string where = file + ":" + std::to_string(number) + ": ";
    if (columns == 0) columns = fields.size();
    const std::size_t least = tagged ? 2 : 1;
    if (fields.size() < least || fields.size() != columns) {
      throw UserError(
          where + std::to_string(fields.size()) + " columns, expected " + std::to_string(std::max(columns, least)),
          "a token a line, its tag in the last column, a blank line between sentences");
    }
    if (tagged && !is_tag(fields.back())) {
      throw UserError(where + "found the tag " + fields.back() + ", expected O, B-TYPE or I-TYPE",
                      "write the tags in IOB1 or IOB2");
    }
    if (sentence.tokens.empty()) sentence.line = number;
    sentence.tokens.push_back(fields.front());
    if (tagged) sentence.tags.push_back(fields.back());
  }
  finish();
  if (sentences.empty()) throw UserError(file + ": no sentence", "check that it is the right file");
  return sentences;
}

std::vector<std::string> tag_set(const std::vector<TaggedSentence>& sentences) {
  std::set<std::pair<std::string, char>> found;  // by type, then B before I
  for (const TaggedSentence& sentence : sentences) {
    for (const std::string& tag : sentence.tags) {
      if (tag != "O") found.emplace(tag.substr(2), tag[0]);
    }
  }
  std::vector<std::string> tags = {"O"};
  for (const auto& [type, prefix] : found) tags.push_back(std::string(1, prefix) + "-" + type);
  return tags;
}

}  // namespace attend
