// Word alignments as text: for each sentence pair a line of links between word positions, separated by spaces. `1-2` is
// a sure link, on which annotators agree, and `1?2` a possible one, on which they may differ (Och and Ney 2003, A
// Systematic Comparison of Various Statistical Alignment Models, section 6). Without possible links this is the Pharaoh
// format.
//
//   "0-0 1-2 3?2"    source word 0 is linked to target word 0, 1 to 2, and perhaps 3 to 2
//
// Files differ in the side named first and in the number of the first word; both are given by LinkFormat. The NAACL
// format, one link per line with its sentence number, is not supported.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"

namespace attend {

// The words that alignments count. They are separated by spaces and tabs; in addition, every Chinese character,
// hiragana and katakana is a word, with the punctuation attached to it, unless a space somewhere between two of them
// shows that the line has been split into words. The words point into `text`.
//
//   "我喜欢BERT模型。"       我 喜 欢 BERT 模 型。
//   "我 喜欢 BERT 模型 。"   我 喜欢 BERT 模型 。
std::vector<std::string_view> aligned_words(std::string_view text);

// The number of words of each line.
std::vector<std::int64_t> count_words(const std::vector<std::string>& lines);

// A link between two words, both counted from 0.
struct Link {
  std::int64_t src = 0;
  std::int64_t tgt = 0;
  auto operator<=>(const Link&) const = default;
};

// "0-0 2-1".
std::string to_text(const std::vector<Link>& links);

// The links of a sentence pair, each list sorted and without duplicates. Sure links are also possible links.
struct SentenceLinks {
  std::vector<Link> sure;
  std::vector<Link> possible;
};

enum class LinkDirection { source_target, target_source };
template <>
inline constexpr auto kEnumNames<LinkDirection> = std::to_array<EnumName<LinkDirection>>(
    {{LinkDirection::source_target, "source-target"}, {LinkDirection::target_source, "target-source"}});

// The properties of a link file that the file does not state.
struct LinkFormat {
  LinkDirection direction = LinkDirection::source_target;
  std::int64_t base = 0;                        // the number of the first word
  bool may_be_possible = true;                  // `1?2` is allowed
  std::string remedy = {};                      // for links outside their sentence
  std::vector<std::int64_t> source_words = {};  // of every line, or empty: positions are not checked
  std::vector<std::int64_t> target_words = {};
};

// A file of gold links and its conventions.
struct GoldConfig {
  std::string gold;
  LinkDirection gold_direction = LinkDirection::source_target;
  std::int64_t gold_base = 0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("gold", self.gold,
          {.help = "gold alignment of each line: sure links 1-2, possible links 1?2",
           .file = FileUse::read,
           .common = true});
    visit("gold-direction", self.gold_direction, {.help = "order of the two words in a gold link"});
    visit("gold-base", self.gold_base, {.help = "number of the first word in --gold", .min = 0, .max = 1});
  }
};

// Returns one entry per line. Throws UserError naming file and line for malformed links, a possible link where none is
// allowed, and a position below `base` or outside its sentence; naming the file if it is empty.
std::vector<SentenceLinks> read_links(const std::string& file, const LinkFormat& format);

// The gold links of sentences with these numbers of words (empty: not checked). UserError also if no link is sure.
std::vector<SentenceLinks> read_gold_links(const GoldConfig& config, std::vector<std::int64_t> source_words,
                                           std::vector<std::int64_t> target_words);

}  // namespace attend
