#include "data/tokenizer/wordpiece.hpp"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/tokenizer/tokenizer_json.hpp"

namespace attend {
namespace {

bool is_ideograph(UChar32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

// True if Unicode 8 had the character.
bool is_old(UChar32 c) {
  UVersionInfo age;
  u_charAge(c, age);
  return age[0] >= 1 && age[0] <= 8;
}

bool is_control(UChar32 c) {
  const auto category = u_charType(c);
  return (category == U_CONTROL_CHAR || category == U_FORMAT_CHAR || category == U_PRIVATE_USE_CHAR) && is_old(c);
}

// All ASCII but letters, digits and spaces counts as punctuation, even $ and ^. The two code points were reclassified.
bool is_punctuation(UChar32 c) {
  if (c < 128) return c > ' ' && c != 127 && !u_isalnum(c);
  return (u_ispunct(c) && is_old(c)) || c == 0x166D || c == 0x111C9;
}

bool is_accent(UChar32 c) {
  if (c == 0x1885 || c == 0x1886 || c == 0xA9BD || c == 0x111C9) return false;  // reclassified as punctuation since
  return (u_charType(c) == U_NON_SPACING_MARK && is_old(c)) || c == 0x1734;     // was a nonspacing mark then
}

using nlohmann::json;

// Added tokens are matched before anything else. Special ones may be ignored, since text never becomes them here.
void check_added_tokens(const json& file, const WordPiece& vocabulary, const std::string& name) {
  const SpecialIds ids = vocabulary.special();
  const std::array special{ids.pad, ids.unk, ids.cls, ids.sep, ids.mask};
  for_added_tokens(file, name, [&](const SpecialToken& token, const json& /*entry*/) {
    const bool is_special = std::ranges::find(special, token.id) != special.end();
    if (is_special && vocabulary.piece(token.id) == token.piece) return;
    throw UserError(name + ": the added token \"" + token.piece + "\", id " + std::to_string(token.id) +
                        ", expected only [PAD], [UNK], [CLS], [SEP] and [MASK]",
                    kOtherTokenizer);
  });
}

}  // namespace

WordPiece::WordPiece(std::vector<std::string> pieces, const WordPieceConfig& config, const std::string& name)
    : ListedPieces(std::move(pieces)), config_(config) {
  const std::string remedy = "check that it is a BERT vocabulary, or use another copy";
  for (std::size_t k = 0; k < this->pieces().size(); ++k) {
    const std::string& piece = this->pieces()[k];
    const std::string what = name + ": piece " + std::to_string(k);
    if (piece.empty()) throw UserError(what + " is empty", remedy);
    if (!is_utf8(piece)) throw UserError(what + " is not UTF-8", remedy);
    add_to_index(k, name, remedy);
    longest_piece_ = std::max(longest_piece_, piece.size());
  }
  special_ = {.pad = special_id("[PAD]", name),
              .unk = special_id("[UNK]", name),
              .cls = special_id("[CLS]", name),
              .sep = special_id("[SEP]", name),
              .mask = special_id("[MASK]", name)};
}

std::int32_t WordPiece::special_id(const std::string& piece, const std::string& name) const {
  const std::int32_t found = find(piece);
  if (found >= 0) return found;
  throw UserError(name + ": no piece " + piece + " among its " + std::to_string(size()) +
                      "; expected [PAD], [UNK], [CLS], [SEP] and [MASK]",
                  "check that it is a BERT vocabulary");
}

// Invalid UTF-8 counts as U+FFFD, which is removed.
std::vector<WordPiece::Character> WordPiece::clean(std::string_view text) const {
  std::vector<Character> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length_at(text, at);
    const std::size_t begin = at, end = at + std::max<std::size_t>(length, 1);
    at = end;
    if (length == 0) continue;
    const UChar32 c = code_point_of(text.substr(begin, length));
    const auto add = [&](UChar32 code_point) { characters.push_back({code_point, begin, end}); };
    if (c == '\t' || c == '\n' || c == '\r') {
      add(' ');
    } else if (c == 0 || c == 0xFFFD || is_control(c)) {  // vertical tab, form feed and U+0085 among them
      continue;
    } else if (u_isUWhiteSpace(c)) {
      add(' ');
    } else if (config_.split_ideographs && is_ideograph(c)) {
      add(' ');
      add(c);
      add(' ');
    } else {
      add(c);
    }
  }
  return characters;
}

// Canonical decomposition without nonspacing marks.
std::vector<WordPiece::Character> WordPiece::without_accents(const std::vector<Character>& characters) const {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* decomposition = icu::Normalizer2::getNFDInstance(error);
  ensure(U_SUCCESS(error), "ICU decomposes characters");
  std::vector<Character> result;
  result.reserve(characters.size());
  icu::UnicodeString parts;
  for (const Character& character : characters) {
    if (character.code_point < 128 || !decomposition->getDecomposition(character.code_point, parts)) {
      result.push_back(character);
      continue;
    }
    for (std::int32_t k = 0; k < parts.length(); k = parts.moveIndex32(k, 1)) {
      result.push_back({parts.char32At(k), character.begin, character.end});
    }
  }
  const auto order = [](const Character& c) { return c.code_point < 128 ? 0 : u_getCombiningClass(c.code_point); };
  for (auto at = result.begin(); at != result.end();) {
    const auto end = std::find_if(at, result.end(), [&](const Character& c) { return order(c) == 0; });
    if (end - at > 1) {
      std::stable_sort(at, end, [&](const Character& a, const Character& b) { return order(a) < order(b); });
    }
    at = end == at ? end + 1 : end;
  }
  std::erase_if(result, [](const Character& c) { return c.code_point >= 128 && is_accent(c.code_point); });
  return result;
}

// Each character separately, whatever its context.
std::vector<WordPiece::Character> WordPiece::lowered(const std::vector<Character>& characters) const {
  std::vector<Character> result;
  result.reserve(characters.size());
  for (const Character& character : characters) {
    const UChar32 c = character.code_point;
    if (c < 128) {
      result.push_back({u_tolower(c), character.begin, character.end});
      continue;
    }
    icu::UnicodeString letters(c);
    letters.toLower(icu::Locale::getRoot());
    for (std::int32_t k = 0; k < letters.length(); k = letters.moveIndex32(k, 1)) {
      result.push_back({letters.char32At(k), character.begin, character.end});
    }
  }
  return result;
}

// Greedy longest match from the start; if some part matches no piece, the whole word is unknown.
void WordPiece::add_word(std::span<const Character> word, std::vector<Place>& places) const {
  const std::size_t before = places.size();
  const auto give_up = [&] {
    places.resize(before);
    places.push_back({special_.unk, word.front().begin, word.back().end});
  };
  if (word.size() > static_cast<std::size_t>(config_.longest_word)) return give_up();
  for (std::size_t from = 0; from < word.size();) {
    std::string candidate = from == 0 ? "" : "##";
    std::int32_t best = -1;
    std::size_t best_end = from;
    for (std::size_t to = from; to < word.size() && candidate.size() < longest_piece_; ++to) {
      append_utf8(candidate, word[to].code_point);
      if (const std::int32_t found = find(candidate); found >= 0) {
        best = found;
        best_end = to + 1;
      }
    }
    if (best < 0) return give_up();
    places.push_back({best, word[from].begin, word[best_end - 1].end});
    from = best_end;
  }
}

std::vector<WordPiece::Place> WordPiece::places_of(std::string_view text) const {
  std::vector<Character> characters = clean(text);
  if (config_.strip_accents) characters = without_accents(characters);
  if (config_.lower_case) characters = lowered(characters);
  const std::span<const Character> all(characters);
  std::vector<Place> places;
  std::size_t word = 0;  // start of the open one
  const auto close = [&](std::size_t at) {
    if (word < at) add_word(all.subspan(word, at - word), places);
  };
  for (std::size_t at = 0; at < all.size(); ++at) {
    const bool is_space = u_isUWhiteSpace(all[at].code_point);
    if (!is_space && !is_punctuation(all[at].code_point)) continue;
    close(at);
    if (!is_space) add_word(all.subspan(at, 1), places);
    word = at + 1;
  }
  close(all.size());
  return places;
}

std::string WordPiece::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (id == special_.pad || id == special_.cls || id == special_.sep || id == special_.mask) continue;
    if (text.empty()) {
      text = piece(id);
    } else {
      text += begins_word(id) ? " " + piece(id) : piece(id).substr(2);
    }
  }
  return text;
}

WordPiece read_wordpiece_json(const json& file, const std::string& name) {
  if (!file.is_object()) throw UserError(name + ": not an object, expected a tokenizer.json", kOtherTokenizer);
  const json& model = typed_member(file, "model", "WordPiece", name);
  const json& normaliser = typed_member(file, "normalizer", "BertNormalizer", name);
  typed_member(file, "pre_tokenizer", "BertPreTokenizer", name);
  check_member(model, "unk_token", {"[UNK]"}, name);
  check_member(model, "continuing_subword_prefix", {"##"}, name);
  check_member(normaliser, "clean_text", {true}, name);
  const bool lower_case = json_member<bool>(normaliser, "lowercase", name);
  const WordPieceConfig config{.lower_case = lower_case,
                               .strip_accents = flag_of(normaliser, "strip_accents", lower_case, name),
                               .split_ideographs = json_member<bool>(normaliser, "handle_chinese_chars", name),
                               .longest_word = json_member<std::int64_t>(model, "max_input_chars_per_word", name)};
  if (config.longest_word < 0) {
    throw UserError(
        name + ": \"max_input_chars_per_word\" is " + std::to_string(config.longest_word) + ", expected 0 or more",
        kOtherCopy);
  }
  WordPiece result(pieces_by_id(vocabulary_of(model, name), name), config, name);
  check_added_tokens(file, result, name);
  return result;
}

std::string to_wordpiece_json(const WordPiece& vocabulary) {
  json ids = json::object();
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) ids[vocabulary.piece(id)] = id;
  const WordPieceConfig& config = vocabulary.config();
  const SpecialIds special = vocabulary.special();
  const auto token = [&](std::int32_t id) { return SpecialToken{.id = id, .piece = vocabulary.piece(id)}; };
  return tokenizer_json_text(
      {token(special.pad), token(special.unk), token(special.cls), token(special.sep), token(special.mask)},
      {{"normalizer",
        {{"type", "BertNormalizer"},
         {"clean_text", true},
         {"handle_chinese_chars", config.split_ideographs},
         {"strip_accents", config.strip_accents},
         {"lowercase", config.lower_case}}},
       {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
       {"post_processor", template_json(token(special.cls), token(special.sep))},
       {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", false}}},
       {"model",
        {{"type", "WordPiece"},
         {"unk_token", "[UNK]"},
         {"continuing_subword_prefix", "##"},
         {"max_input_chars_per_word", config.longest_word},
         {"vocab", std::move(ids)}}}});
}

}  // namespace attend
