#include "data/text/conll.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"
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
    if (columns == 0) columns = fields.size();
    const std::size_t least = tagged ? std::max<std::size_t>(tags.number, 2) : 1;
    if (fields.size() < least || fields.size() != columns) {
      lines.refuse(std::to_string(fields.size()) + " columns, expected " + std::to_string(std::max(columns, least)),
                   "write one token per line, its tag in the last column, and a blank line between sentences");
    }
    if (sentence.tokens.empty()) sentence.line = number;
    sentence.tokens.emplace_back(fields.front());
    if (!tagged) continue;
    const std::string tag(fields[tags.number == 0 ? fields.size() - 1 : tags.number - 1]);
    if (tags.chunks && !marks_chunk(tag)) {
      lines.refuse("invalid chunk tag " + tag + ", expected O, B-TYPE, I-TYPE, E-TYPE or S-TYPE",
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

namespace {

constexpr std::string_view kColumns[] = {"ID",    "FORM", "LEMMA",  "UPOS", "XPOS",
                                         "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};
enum ConlluColumn : std::size_t { kId, kForm, kLemma, kUpos, kXpos, kFeats, kHead, kDeprel, kDeps, kMisc };

constexpr std::string_view kTextComment = "# text = ";
constexpr std::string_view kNoSpace = "SpaceAfter=No";

constexpr const char* kConlluRemedy =
    "write CoNLL-U: ten tab-separated columns a word, _ for no value, and a blank line after each sentence";
constexpr const char* kNumberRemedy =
    "number the words of a sentence from 1; the range of a multiword token (3-4) precedes its words, and an empty node "
    "(8.1) follows the word whose number it has";
constexpr const char* kTreeRemedy = "give each word the number of the word it depends on, and one word the head 0";

// A word or multiword token, as the text spells it.
struct Spelling {
  std::uint64_t line = 0;
  std::string form = {};
  std::size_t first = 0, last = 0;  // numbers of its words, from 1
  bool space_after = true;
};

class TreeReader {
 public:
  explicit TreeReader(std::string file) : file_(std::move(file)) {}

  void read(const std::string& line, std::uint64_t number) {
    if (is_blank(line)) return finish();
    if (line.starts_with(kTextComment)) sentence_.text = trimmed(std::string_view(line).substr(kTextComment.size()));
    if (line.starts_with('#')) return;
    const std::vector<std::string> fields = split_at(line, '\t');
    if (fields.size() != std::size(kColumns)) {
      refuse(number, counted(std::ssize(fields), "tab-separated column") + ", expected 10", kConlluRemedy);
    }
    if (const auto blank = std::ranges::find_if(fields, is_blank); blank != fields.end()) {
      refuse(number, fmt::format("{} is empty", kColumns[blank - fields.begin()]), kConlluRemedy);
    }
    const std::size_t next = sentence_.words.size() + 1;
    const std::string& id = fields[kId];
    if (const std::size_t dash = id.find('-'); dash != std::string::npos) {
      const auto first = parse_number<std::size_t>(id.substr(0, dash));
      const auto last = parse_number<std::size_t>(id.substr(dash + 1));
      if (first != next || !last || *last < next || is_spelt(next)) {
        refuse(number, fmt::format("ID is {}, expected a range from {}", id, is_spelt(next) ? last_spelt() + 1 : next),
               kNumberRemedy);
      }
      spell(fields, number, *last);
    } else if (const std::size_t dot = id.find('.'); dot != std::string::npos) {
      if (parse_number<std::size_t>(id.substr(0, dot)) != next - 1 || !parse_number<std::size_t>(id.substr(dot + 1))) {
        refuse(number, fmt::format("ID is {}, expected {}.1 or the like", id, next - 1), kNumberRemedy);
      }
    } else {
      if (parse_number<std::size_t>(id) != next) {
        refuse(number, fmt::format("ID is {}, expected {}", id, next), kNumberRemedy);
      }
      if (!is_spelt(next)) spell(fields, number, next);
      add_word(fields, number);
    }
  }

  // All sentences, after the last line.
  std::vector<TreeSentence> sentences() {
    finish();
    return std::move(sentences_);
  }

 private:
  // Ends the sentence; comments alone are not one.
  void finish() {
    if (spellings_.empty()) {
      sentence_ = {};
      return;
    }
    check_tree();
    find_places();
    sentence_.line = lines_.front();
    sentences_.push_back(std::exchange(sentence_, {}));
    spellings_.clear();
    lines_.clear();
  }

  [[noreturn]] void refuse(std::uint64_t line, const std::string& what, const char* remedy) const {
    throw UserError(fmt::format("{}:{}: {}", file_, line, what), remedy);
  }

  std::size_t last_spelt() const { return spellings_.empty() ? 0 : spellings_.back().last; }
  bool is_spelt(std::size_t word) const { return word <= last_spelt(); }

  void spell(const std::vector<std::string>& fields, std::uint64_t line, std::size_t last) {
    const std::vector<std::string> notes = split_at(fields[kMisc], '|');
    spellings_.push_back({.line = line,
                          .form = fields[kForm],
                          .first = sentence_.words.size() + 1,
                          .last = last,
                          .space_after = std::ranges::find(notes, kNoSpace) == notes.end()});
  }

  void add_word(const std::vector<std::string>& fields, std::uint64_t line) {
    TreeWord word{.form = fields[kForm], .part_of_speech = fields[kUpos]};
    if (fields[kFeats] != "_") {
      for (const std::string& feature : split_at(fields[kFeats], '|')) {
        const std::size_t equals = feature.find('=');
        if (equals == 0 || equals == std::string::npos) {
          refuse(line, "FEATS has \"" + feature + "\", expected Name=Value",
                 "write FEATS as Case=Nom|Number=Sing, or _");
        }
        word.features.emplace_back(feature.substr(0, equals), feature.substr(equals + 1));
      }
    }
    const auto head = parse_number<std::size_t>(fields[kHead]);
    if (!head) refuse(line, "HEAD is " + fields[kHead] + ", expected the number of a word, or 0", kTreeRemedy);
    word.head = *head;
    word.relation = fields[kDeprel].substr(0, fields[kDeprel].find(':'));
    sentence_.words.push_back(std::move(word));
    lines_.push_back(line);
  }

  void check_tree() const {
    const std::vector<TreeWord>& words = sentence_.words;
    if (const Spelling& last = spellings_.back(); last.last > words.size()) {
      refuse(last.line,
             fmt::format("the token {}-{} goes beyond the last word, {}", last.first, last.last, words.size()),
             kNumberRemedy);
    }
    std::size_t root = 0;
    for (std::size_t number = 1; number <= words.size(); ++number) {
      const std::size_t head = words[number - 1].head;
      if (head > words.size()) {
        refuse(lines_[number - 1],
               fmt::format("HEAD is {}, but the sentence has {}", head, counted(std::ssize(words), "word")),
               kTreeRemedy);
      }
      if (head != 0) continue;
      if (root != 0) refuse(lines_[number - 1], fmt::format("a second root, after word {}", root), kTreeRemedy);
      root = number;
    }
    if (root == 0) refuse(lines_.front(), "the sentence has no root", kTreeRemedy);
    std::vector<std::size_t> passed(words.size() + 1, 0);  // by which word's path to the root
    for (std::size_t number = 1; number <= words.size(); ++number) {
      std::size_t at = number;
      for (; at != 0 && passed[at] == 0; at = words[at - 1].head) passed[at] = number;
      if (at != 0 && passed[at] == number) {
        refuse(lines_[at - 1], fmt::format("word {} depends on itself, directly or through others", at), kTreeRemedy);
      }
    }
  }

  void find_places() {
    std::string& text = sentence_.text;
    if (text.empty()) {
      for (const Spelling& spelling : spellings_) {
        text += spelling.form;
        if (spelling.space_after) text += ' ';
      }
      if (spellings_.back().space_after) text.pop_back();
    }
    sentence_.places.reserve(sentence_.words.size());
    std::size_t at = 0;
    for (const Spelling& spelling : spellings_) {
      at = std::min(text.find_first_not_of(" \t", at), text.size());
      if (text.compare(at, spelling.form.size(), spelling.form) != 0) {
        refuse(spelling.line,
               fmt::format("the form is \"{}\", but the text continues with \"{}\"", spelling.form, text.substr(at)),
               "let \"# text = \" contain the forms in order, with nothing but spaces between them");
      }
      const std::size_t end = at + spelling.form.size();
      sentence_.places.insert(sentence_.places.end(), spelling.last - spelling.first + 1, {at, end});
      at = end;
    }
    if (!is_blank(std::string_view(text).substr(at))) {
      refuse(lines_.back(), fmt::format("the text continues with \"{}\" after the last form", trimmed(text.substr(at))),
             "let \"# text = \" contain the forms and no more");
    }
  }

  std::string file_;
  std::vector<TreeSentence> sentences_;
  TreeSentence sentence_;             // being read
  std::vector<Spelling> spellings_;   // of the words so far, in order
  std::vector<std::uint64_t> lines_;  // of the words
};

}  // namespace

std::vector<TreeSentence> read_conllu(const std::string& file) {
  LineReader lines(check_text_file(file));
  TreeReader reader(file);
  for (std::string line; lines.next(line);) reader.read(line, lines.counts().lines);
  std::vector<TreeSentence> sentences = reader.sentences();
  if (sentences.empty()) throw UserError(file + ": no sentences", "check that it is the right file");
  lines.warn_of_invalid_utf8();
  return sentences;
}

std::string to_conllu(const TreeSentence& sentence) {
  const auto& places = sentence.places;
  std::string lines = std::string(kTextComment) + sentence.text + '\n';
  for (std::size_t begin = 0, end = 0; begin < places.size(); begin = end) {
    const auto [from, to] = places[begin];
    while (end < places.size() && places[end].first == from) ++end;
    const std::string_view misc = end < places.size() && places[end].first == to ? kNoSpace : "_";
    const bool multiword = end - begin > 1;
    if (multiword) {
      lines += fmt::format("{}-{}\t{}\t_\t_\t_\t_\t_\t_\t_\t{}\n", begin + 1, end,
                           sentence.text.substr(from, to - from), misc);
    }
    for (std::size_t i = begin; i < end; ++i) {
      const TreeWord& word = sentence.words[i];
      std::string features;
      for (const auto& [name, value] : word.features) {
        features += (features.empty() ? "" : "|") + name + '=' + value;
      }
      lines += fmt::format("{}\t{}\t_\t{}\t_\t{}\t{}\t{}\t_\t{}\n", i + 1, word.form, word.part_of_speech,
                           features.empty() ? "_" : features, word.head, word.relation, multiword ? "_" : misc);
    }
  }
  return lines + '\n';
}

}  // namespace attend
