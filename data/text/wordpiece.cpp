#include "data/text/wordpiece.hpp"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "core/error.hpp"
#include "data/text/utf8.hpp"

namespace attend {
namespace {

bool is_ideograph(UChar32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_control(UChar32 c) {
  const auto category = u_charType(c);
  return category == U_CONTROL_CHAR || category == U_FORMAT_CHAR || category == U_PRIVATE_USE_CHAR;
}

// ASCII that is no letter, digit or space counts as punctuation, $ and ^ too.
bool is_punctuation(UChar32 c) {
  if (c < 128) return c > ' ' && c != 127 && !u_isalnum(c);
  return u_ispunct(c);
}

}  // namespace

WordPiece::WordPiece(std::vector<std::string> pieces, const WordPieceConfig& config, const std::string& name)
    : pieces_(std::move(pieces)), config_(config) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!ids_.emplace(pieces_[i], static_cast<std::int32_t>(i)).second) {
      throw UserError(name + ": the piece \"" + pieces_[i] + "\" is there twice", "take another copy");
    }
  }
  const auto unknown = ids_.find("[UNK]");
  if (unknown == ids_.end()) throw UserError(name + ": no piece [UNK]", "check that it is a vocabulary of BERT");
  unknown_ = unknown->second;
}

std::int32_t WordPiece::id_of(std::string_view piece) const {
  const auto found = ids_.find(std::string(piece));
  return found == ids_.end() ? unknown_ : found->second;
}

std::vector<WordPiece::Character> WordPiece::clean(std::string_view text) const {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* decomposition = icu::Normalizer2::getNFDInstance(error);
  ensure(U_SUCCESS(error), "ICU decomposes characters");
  std::vector<Character> characters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length_at(text, at);
    const std::size_t begin = at, end = at + std::max<std::size_t>(length, 1);
    at = end;
    if (length == 0) continue;  // no UTF-8: as U+FFFD, which is taken away
    const UChar32 c = code_point_of(text.substr(begin, length));
    const auto add = [&](UChar32 code_point) { characters.push_back({code_point, begin, end}); };
    if (c == '\t' || c == '\n' || c == '\r' || u_isUWhiteSpace(c)) {
      add(' ');
    } else if (c == 0 || c == 0xFFFD || is_control(c)) {
      continue;
    } else if (config_.split_ideographs && is_ideograph(c)) {
      add(' ');
      add(c);
      add(' ');
    } else if (config_.lower_case && c < 128) {
      add(u_tolower(c));
    } else if (config_.lower_case) {
      const icu::UnicodeString decomposed = decomposition->normalize(icu::UnicodeString(c), error);
      ensure(U_SUCCESS(error), "ICU decomposes a character");
      for (std::int32_t k = 0; k < decomposed.length(); k = decomposed.moveIndex32(k, 1)) {
        const UChar32 part = decomposed.char32At(k);
        if (u_charType(part) == U_NON_SPACING_MARK) continue;
        icu::UnicodeString lowered(part);
        lowered.toLower(icu::Locale::getRoot());
        for (std::int32_t j = 0; j < lowered.length(); j = lowered.moveIndex32(j, 1)) add(lowered.char32At(j));
      }
    } else {
      add(c);
    }
  }
  return characters;
}

// Greedily the longest piece from the start; a word of which a part is in no piece is unknown as a whole.
void WordPiece::add_word(const Character* begin, const Character* end, std::vector<Place>& places) const {
  const std::size_t before = places.size();
  const auto give_up = [&] {
    places.resize(before);
    places.push_back({unknown_, begin->begin, (end - 1)->end});
  };
  if (static_cast<std::size_t>(end - begin) > kLongestWord) return give_up();
  for (const Character* from = begin; from != end;) {
    std::string candidate = from == begin ? "" : "##";
    std::int32_t best = -1;
    const Character* best_end = from;
    for (const Character* to = from; to != end;) {
      append_utf8(candidate, to->code_point);
      ++to;
      if (const auto found = ids_.find(candidate); found != ids_.end()) {
        best = found->second;
        best_end = to;
      }
    }
    if (best < 0) return give_up();
    places.push_back({best, from->begin, (best_end - 1)->end});
    from = best_end;
  }
}

std::vector<WordPiece::Place> WordPiece::encode(std::string_view text) const {
  const std::vector<Character> characters = clean(text);
  std::vector<Place> places;
  const Character* const end = characters.data() + characters.size();
  const Character* word = nullptr;  // the one that is open
  const auto close = [&](const Character* at) {
    if (word != nullptr) add_word(word, at, places);
    word = nullptr;
  };
  for (const Character* at = characters.data(); at != end; ++at) {
    if (u_isUWhiteSpace(at->code_point)) {
      close(at);
    } else if (is_punctuation(at->code_point)) {
      close(at);
      add_word(at, at + 1, places);
    } else if (word == nullptr) {
      word = at;
    }
  }
  close(end);
  return places;
}

std::string WordPiece::decode(const std::vector<std::int32_t>& ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    const std::string& piece = pieces_.at(static_cast<std::size_t>(id));
    if (piece.starts_with("##")) {
      text += piece.substr(2);
    } else {
      text += (text.empty() ? "" : " ") + piece;
    }
  }
  return text;
}

}  // namespace attend
