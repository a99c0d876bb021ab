#include "data/text/conll.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

// Converts from IOB1, IOB2 or IOBES: an I- or E- without an open chunk of its type starts one.
void to_iob2(std::vector<std::string>& tags) {
  std::string open;  // type of the open chunk, empty if none
  for (std::string& tag : tags) {
    const char place = tag[0];
    const std::string type = place == 'O' ? "" : tag.substr(2);
    if (place != 'O') tag[0] = (place == 'I' || place == 'E') && type == open ? 'I' : 'B';
    open = place == 'E' || place == 'S' ? "" : type;
  }
}

}  // namespace

bool marks_chunk(const std::string& tag) {
  return tag == "O" ||
         (tag.size() > 2 && std::string_view("BIES").find(tag[0]) != std::string_view::npos && tag[1] == '-');
}

std::vector<TaggedSentence> read_conll(const std::string& file, const TagColumn& tags, Labelled labelled) {
  const bool tagged = labelled == Labelled::yes;
  LineReader lines(check_text_file(file));
  std::vector<TaggedSentence> sentences;
  TaggedSentence sentence;
  std::int64_t document = 0;
  bool marked = false;
  std::size_t columns = 0;
  const auto finish = [&] {
    if (sentence.tokens.empty()) return;
    if (tags.chunks) to_iob2(sentence.tags);
    sentence.document = document;
    sentence.after_mark = std::exchange(marked, false);
    sentences.push_back(std::move(sentence));
    sentence = {};
  };
  for (std::string line; lines.next(line);) {
    const std::uint64_t number = lines.counts().lines;
    const std::vector<std::string_view> fields = spaced_words(line);
    if (fields.empty()) {
      finish();
      continue;
    }
    if (fields[0] == "-DOCSTART-") {
      finish();
      document += !sentences.empty();
      marked = true;
      continue;
    }
    const std::string where = file + ":" + std::to_string(number) + ": ";
    if (columns == 0) columns = fields.size();
    const std::size_t least = tagged ? std::max<std::size_t>(tags.number, 2) : 1;
    if (fields.size() < least || fields.size() != columns) {
      throw UserError(
          where + std::to_string(fields.size()) + " columns, expected " + std::to_string(std::max(columns, least)),
          "write one token per line, its tag in the last column, and a blank line between sentences");
    }
    if (sentence.tokens.empty()) sentence.line = number;
    sentence.tokens.emplace_back(fields.front());
    if (!tagged) continue;
    const std::string tag(fields[tags.number == 0 ? fields.size() - 1 : tags.number - 1]);
    if (tags.chunks && !marks_chunk(tag)) {
      throw UserError(where + "invalid chunk tag " + tag + ", expected O, B-TYPE, I-TYPE, E-TYPE or S-TYPE",
                      "write the tags in IOB1, IOB2 or IOBES, or set chunks = false in the task to allow any tag");
    }
    sentence.tags.push_back(tag);
  }
  finish();
  if (sentences.empty()) throw UserError(file + ": no sentences", "check that it is the right file");
  lines.warn_of_invalid_utf8();
  return sentences;
}

std::vector<std::string> tag_set(const std::vector<TaggedSentence>& sentences, bool chunks) {
  std::set<std::string> found;
  for (const TaggedSentence& sentence : sentences) found.insert(sentence.tags.begin(), sentence.tags.end());
  if (!chunks) return {found.begin(), found.end()};
  found.erase("O");
  std::vector<std::string> tags = {"O"};
  tags.insert(tags.end(), found.begin(), found.end());
  const auto type_first = [](const std::string& tag) { return std::pair(tag.substr(1), tag[0]); };
  std::ranges::sort(tags.begin() + 1, tags.end(), {}, type_first);
  return tags;
}

}  // namespace attend
