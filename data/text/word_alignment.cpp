#include "data/text/word_alignment.hpp"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"

namespace attend {
namespace {

// Letters that are written without spaces and mean something alone.
bool is_unspaced(UChar32 c) {
  constexpr UChar32 kFirst = 0x2E80;  // of CJK
  return c >= kFirst && u_isUAlphabetic(c) &&
         (uscript_hasScript(c, USCRIPT_HAN) || uscript_hasScript(c, USCRIPT_HIRAGANA) ||
          uscript_hasScript(c, USCRIPT_KATAKANA));
}

struct WrittenLink {
  std::int64_t first = 0;
  std::int64_t second = 0;
  bool sure = true;
};

std::optional<std::int64_t> parse_position(std::string_view digits) {
  const bool are_digits = std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  return are_digits ? parse_number<std::int64_t>(digits) : std::nullopt;
}

std::optional<WrittenLink> parse_link(std::string_view token) {
  const std::size_t mark = token.find_first_of("-?");
  if (mark == token.npos) return std::nullopt;
  const auto first = parse_position(token.substr(0, mark)), second = parse_position(token.substr(mark + 1));
  if (!first || !second) return std::nullopt;
  return WrittenLink{.first = *first, .second = *second, .sure = token[mark] == '-'};
}

}  // namespace

std::vector<std::string_view> aligned_words(std::string_view text) {
  const std::vector<std::string_view> spaced = spaced_words(text);
  std::vector<std::string_view> words;
  bool after_alone = false;  // the character before is unspaced
  for (const std::string_view word : spaced) {
    std::size_t begin = 0;
    bool has_letter = false, was_alone = false;  // since `begin`; the last letter is unspaced
    for (std::size_t at = 0; at < word.size();) {
      const std::string_view character = character_at(word, at);
      const UChar32 c = code_point_of(character);
      const bool is_alone = is_unspaced(c), is_letter = is_alone || u_isalnum(c);
      if (at == 0 && is_alone && after_alone) return spaced;
      if (is_letter && has_letter && (is_alone || was_alone)) {
        words.push_back(word.substr(begin, at - begin));
        begin = at;
      }
      has_letter |= is_letter;
      if (is_letter) was_alone = is_alone;
      after_alone = is_alone;
      at += character.size();
    }
    words.push_back(word.substr(begin));
  }
  return words;
}

std::vector<std::int64_t> count_words(const std::vector<std::string>& lines) {
  std::vector<std::int64_t> counts;
  for (const std::string& line : lines) counts.push_back(std::ssize(aligned_words(line)));
  return counts;
}

std::string to_text(const std::vector<Link>& links) {
  std::string text;
  for (const Link& link : links) {
    text += (text.empty() ? "" : " ") + std::to_string(link.src) + "-" + std::to_string(link.tgt);
  }
  return text;
}

std::vector<SentenceLinks> read_links(const std::string& file, const LinkFormat& format) {
  LineReader lines(file);
  std::vector<SentenceLinks> sentences;
  const auto read_link = [&](const std::string& token) {
    const auto refuse = [&](const std::string& what, const std::string& remedy) {
      lines.refuse("\"" + token + "\" " + what, remedy);
    };
    const auto check_position = [&](const std::string& side, std::int64_t position,
                                    const std::vector<std::int64_t>& num_words) {
      const std::size_t sentence = sentences.size() - 1;
      if (sentence >= num_words.size() || position < num_words[sentence]) return;
      refuse("names word " + std::to_string(position + format.base) + " of a " + side + " sentence of " +
                 std::to_string(num_words[sentence]) + " words, counted from " + std::to_string(format.base),
             format.remedy);
    };
    const std::optional<WrittenLink> written = parse_link(token);
    if (!written) {
      refuse("is not a link", format.may_be_possible
                                  ? "write sure links as 1-2 and possible ones as 1?2, separated by spaces"
                                  : "write links as 1-2, separated by spaces");
    }
    if (!written->sure && !format.may_be_possible) {
      refuse("is a possible link, but only gold alignments have them", "write links as 1-2, or exchange the files");
    }
    if (std::min(written->first, written->second) < format.base) {
      refuse("has a position below " + std::to_string(format.base) + ", the first word",
             "give --gold-base 0, or correct the file");
    }
    Link link{.src = written->first - format.base, .tgt = written->second - format.base};
    if (format.direction == LinkDirection::target_source) std::swap(link.src, link.tgt);
    check_position("source", link.src, format.source_words);
    check_position("target", link.tgt, format.target_words);
    if (written->sure) sentences.back().sure.push_back(link);
    sentences.back().possible.push_back(link);
  };
  for (std::string line; lines.next(line);) {
    SentenceLinks& links = sentences.emplace_back();
    for (const std::string_view token : spaced_words(line)) read_link(std::string(token));
    for (std::vector<Link>* list : {&links.sure, &links.possible}) {
      std::ranges::sort(*list);
      list->erase(std::ranges::unique(*list).begin(), list->end());
    }
  }
  if (sentences.empty()) throw UserError(name_of_input(file) + ": empty", "check that it is the right file");
  return sentences;
}

std::vector<SentenceLinks> read_gold_links(const GoldConfig& config, std::vector<std::int64_t> source_words,
                                           std::vector<std::int64_t> target_words) {
  const LinkFormat format{
      .direction = config.gold_direction,
      .base = config.gold_base,
      .remedy = "check --gold-direction and --gold-base, and that the texts are those of the gold alignment",
      .source_words = std::move(source_words),
      .target_words = std::move(target_words)};
  std::vector<SentenceLinks> gold = read_links(config.gold, format);
  if (std::ranges::all_of(gold, [](const SentenceLinks& links) { return links.sure.empty(); })) {
    throw UserError(name_of_input(config.gold) + ": no sure link", "mark the links that are certain as 1-2, not 1?2");
  }
  return gold;
}

}  // namespace attend
