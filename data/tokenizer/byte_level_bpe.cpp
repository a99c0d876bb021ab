#include "data/tokenizer/byte_level_bpe.hpp"

#include <unicode/uchar.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/tokenizer/tokenizer_json.hpp"

namespace attend {
namespace {

constexpr const char* kBpeRemedy = "check that it is GPT-2's kind of tokenizer, or use another copy";

constexpr bool is_printable_latin(std::int32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

constexpr std::array<std::int32_t, 256> kByteCharacters = [] {
  std::array<std::int32_t, 256> characters = {};
  std::int32_t next = 0x100;
  for (std::int32_t byte = 0; byte < 256; ++byte) {
    characters[byte] = is_printable_latin(byte) ? byte : next++;
  }
  return characters;
}();

// The bytes that a piece stands for, or nullopt.
std::optional<std::string> bytes_of_piece(std::string_view piece) {
  std::string bytes;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t length = utf8_length_at(piece, at);
    if (length == 0) return std::nullopt;
    const auto found = std::ranges::find(kByteCharacters, code_point_of(piece.substr(at, length)));
    if (found == kByteCharacters.end()) return std::nullopt;
    bytes += static_cast<char>(found - kByteCharacters.begin());
    at += length;
  }
  return bytes;
}

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

enum class WordClass { letter, number, space, other };

WordClass class_of(std::int32_t code_point) {
  if ((U_GET_GC_MASK(code_point) & U_GC_L_MASK) != 0) return WordClass::letter;
  if ((U_GET_GC_MASK(code_point) & U_GC_N_MASK) != 0) return WordClass::number;
  return u_isUWhiteSpace(code_point) ? WordClass::space : WordClass::other;
}

// The length of the word at the beginning of `text`, which is not empty: the alternatives of the pattern in turn.
std::size_t word_length(const auto& text) {
  const auto is = [&](std::size_t at, char c) { return at < text.size() && text[at].code_point == c; };
  if (is(0, '\'')) {
    for (const char c : {'s', 't', 'm', 'd'}) {
      if (is(1, c)) return 2;
    }
    if ((is(1, 'r') && is(2, 'e')) || (is(1, 'v') && is(2, 'e')) || (is(1, 'l') && is(2, 'l'))) return 3;
  }
  // The end of the run of characters from `at` on in one class.
  const auto end_of_class = [&](std::size_t at) {
    const WordClass kind = class_of(text[at].code_point);
    while (at < text.size() && class_of(text[at].code_point) == kind) ++at;
    return at;
  };
  const std::size_t first = is(0, ' ') && text.size() > 1 ? 1 : 0;
  if (class_of(text[first].code_point) != WordClass::space) return end_of_class(first);
  const std::size_t end = end_of_class(0);
  return end == text.size() || end == 1 ? end : end - 1;  // the last space before a word belongs to the word
}

// The length of the incomplete character at `at`, at least one byte.
std::size_t broken_length_at(std::string_view bytes, std::size_t at) {
  for (const std::size_t length : {3, 2}) {
    if (at + length > bytes.size()) continue;
    const std::string completed = std::string(bytes.substr(at, length)) + "\x80\x80";
    if (utf8_length_at(completed, 0) > length) return length;
  }
  return 1;
}

using nlohmann::json;

// A merge is an array of two pieces or, in older files, one string with a space between them.
std::pair<std::string, std::string> read_merge(const json& merge, const std::string& name) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (merge.is_string()) {
    const auto text = merge.get<std::string>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  throw UserError(name + ": the merge " + merge.dump() + ", expected two pieces with a space between them", kOtherCopy);
}

// Adds the tokens of "added_tokens" to the vocabulary, which need not have them, and returns their ids. Tokens that
// are not special are refused: Hugging Face finds them in a text before anything else.
std::vector<std::int32_t> add_tokens(const json& file, json& vocabulary, const std::string& name) {
  std::vector<std::int32_t> special;
  for_added_tokens(file, name, [&](const SpecialToken& token, const json& entry) {
    if (!json_member<bool>(entry, "special", name)) {
      throw UserError(name + ": the added token \"" + token.piece + "\" is not special, expected special ones only",
                      kOtherTokenizer);
    }
    const auto known = vocabulary.emplace(token.piece, entry["id"]).first;
    if (*known != token.id) {
      throw UserError(name + ": the added token \"" + token.piece + "\" has the id " + std::to_string(token.id) +
                          ", but in the vocabulary " + known->dump(),
                      kOtherCopy);
    }
    special.push_back(token.id);
  });
  return special;
}

}  // namespace

ByteLevelBpe::ByteLevelBpe(ByteLevelBpeFile file, const std::string& name)
    : ListedPieces(std::move(file.pieces)), space_first_(file.space_first) {
  add_pieces(file.special, name);
  add_merges(file.merges, name);
}

void ByteLevelBpe::add_pieces(const std::vector<std::int32_t>& special, const std::string& name) {
  const std::size_t count = pieces().size();
  for (std::size_t k = 0; k < count; ++k) add_to_index(k, name, kBpeRemedy);
  end_of_text_ = find(kEndOfText);
  std::vector<bool> is_special(count);
  for (const std::int32_t id : special) is_special.at(id) = true;
  if (end_of_text_ >= 0) is_special[end_of_text_] = true;
  for (std::int32_t id = 0; id < size(); ++id) {
    std::optional<std::string> bytes = std::string();
    if (!is_special[id]) {
      bytes = bytes_of_piece(piece(id));
      if (!bytes || bytes->empty()) {
        const std::string quoted =
            nlohmann::json(piece(id)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        throw UserError(name + ": piece " + std::to_string(id) + ", " + quoted + ", does not consist of bytes",
                        kBpeRemedy);
      }
    }
    bytes_.push_back(*bytes);
  }
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    std::string character;
    append_utf8(character, kByteCharacters[byte]);
    byte_ids_[byte] = find(character);
    if (byte_ids_[byte] >= 0 && !is_special_piece(byte_ids_[byte])) continue;
    throw UserError(name + ": no piece \"" + character + "\" for the byte " + std::to_string(byte), kBpeRemedy);
  }
}

void ByteLevelBpe::add_merges(const std::vector<std::pair<std::string, std::string>>& merges, const std::string& name) {
  merges_.reserve(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    const auto refuse = [&](const std::string& what) {
      throw UserError(name + ": merge " + std::to_string(rank) + " of \"" + left + "\" and \"" + right + "\" " + what,
                      kBpeRemedy);
    };
    const auto id = [&](const std::string& piece) {
      const std::int32_t found = find(piece);
      if (found < 0 || is_special_piece(found)) refuse("needs a piece \"" + piece + "\"");
      return found;
    };
    const std::int32_t left_id = id(left), right_id = id(right), result = id(left + right);
    if (!merges_.emplace(pair_key(left_id, right_id), Merge{.rank = rank, .result = result}).second) {
      refuse("is given twice");
    }
  }
}

bool ByteLevelBpe::begins_word(std::int32_t id) const {
  const std::string& bytes = bytes_[id];
  return bytes.empty() || std::string_view(" \t\n\r\f\v").find(bytes.front()) != std::string_view::npos;
}

// Invalid UTF-8 counts as U+FFFD.
std::vector<ByteLevelBpe::Character> ByteLevelBpe::characters_of(std::string_view text) const {
  std::vector<Character> characters;
  characters.reserve(text.size() + 1);
  if (space_first_ && !text.empty() && text.front() != ' ') characters.push_back({' ', 0, 0});
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length_at(text, at), end = at + std::max<std::size_t>(length, 1);
    characters.push_back({length == 0 ? 0xFFFD : code_point_of(text.substr(at, length)), at, end});
    at = end;
  }
  return characters;
}

// Always merges the pair of lowest rank, the leftmost of equal ones.
void ByteLevelBpe::add_word(std::span<const Character> word, std::vector<Place>& places) const {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Symbol {
    Place place;
    std::size_t previous, next;
  };
  struct Candidate {
    std::size_t rank, left;
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
  };
  std::vector<Symbol> symbols;
  for (const Character& character : word) {
    std::string bytes;
    append_utf8(bytes, character.code_point);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::size_t at = symbols.size(), end = i + 1 == bytes.size() ? character.end : character.begin;
      symbols.push_back({.place = {byte_ids_[static_cast<unsigned char>(bytes[i])], character.begin, end},
                         .previous = at == 0 ? kNone : at - 1,
                         .next = at + 1});
    }
  }
  symbols.back().next = kNone;
  const auto merge_at = [&](std::size_t left) -> const Merge* {
    if (left == kNone || symbols[left].next == kNone) return nullptr;
    const auto found = merges_.find(pair_key(symbols[left].place.id, symbols[symbols[left].next].place.id));
    return found == merges_.end() ? nullptr : &found->second;
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto propose = [&](std::size_t left) {
    if (const Merge* merge = merge_at(left)) candidates.push({merge->rank, left});
  };
  for (std::size_t at = 0; at < symbols.size(); ++at) propose(at);
  constexpr std::int32_t kGone = -1;  // id of a symbol that was merged into the one before it
  while (!candidates.empty()) {
    const auto [rank, at] = candidates.top();
    candidates.pop();
    Symbol& left = symbols[at];
    if (left.place.id == kGone) continue;
    const Merge* merge = merge_at(at);
    if (merge == nullptr || merge->rank != rank) continue;  // one of the two has since become another piece
    Symbol& right = symbols[left.next];
    left.place.id = merge->result;
    left.place.end = right.place.end;
    left.next = right.next;
    right.place.id = kGone;
    if (left.next != kNone) symbols[left.next].previous = at;
    propose(left.previous);
    propose(at);
  }
  for (std::size_t at = 0; at != kNone; at = symbols[at].next) places.push_back(symbols[at].place);
}

std::vector<ByteLevelBpe::Place> ByteLevelBpe::places_of(std::string_view text) const {
  const std::vector<Character> characters = characters_of(text);
  std::vector<Place> places;
  for (std::span<const Character> rest(characters); !rest.empty();) {
    const std::size_t length = word_length(rest);
    add_word(rest.first(length), places);
    rest = rest.subspan(length);
  }
  return places;
}

std::string ByteLevelBpe::decode(std::span<const std::int32_t> ids) const {
  std::string bytes, text;
  for (const std::int32_t id : ids) bytes += bytes_[id];
  for (std::size_t at = 0; at < bytes.size();) {
    if (const std::size_t length = utf8_length_at(bytes, at); length > 0) {
      text.append(bytes, at, length);
      at += length;
    } else {
      text += kReplacementCharacter;
      at += broken_length_at(bytes, at);
    }
  }
  return text;
}

bool is_bpe_json(const json& file) {
  if (!file.is_object()) return false;
  const auto model = file.find("model");
  return model != file.end() && model->is_object() && model->contains("merges");
}

ByteLevelBpe read_byte_level_bpe_json(const json& file, const std::string& name) {
  ensure(is_bpe_json(file), "a model with merges");
  const json& model = file["model"];
  check_member(model, "type", {"BPE", nullptr}, name);
  check_member(model, "dropout", {nullptr, 0}, name);
  check_member(model, "continuing_subword_prefix", {"", nullptr}, name);
  check_member(model, "end_of_word_suffix", {"", nullptr}, name);
  check_member(model, "byte_fallback", {false, nullptr}, name);
  check_member(model, "ignore_merges", {false, nullptr}, name);
  check_member(file, "normalizer", {nullptr}, name);
  const json& words = typed_member(file, "pre_tokenizer", "ByteLevel", name);
  check_member(words, "use_regex", {true, nullptr}, name);
  json vocabulary = vocabulary_of(model, name);
  const json& merges = model["merges"];
  if (!merges.is_array()) throw UserError(name + ": \"merges\" is not an array", kOtherCopy);
  ByteLevelBpeFile result{.pieces = {}, .space_first = json_member<bool>(words, "add_prefix_space", name)};
  result.merges.reserve(merges.size());
  for (const json& merge : merges) result.merges.push_back(read_merge(merge, name));
  result.special = add_tokens(file, vocabulary, name);
  result.pieces = pieces_by_id(vocabulary, name);
  return {std::move(result), name};
}

std::string to_byte_level_bpe_json(const json& vocabulary, const json& merges, bool space_first) {
  std::vector<SpecialToken> added;
  if (const auto end = vocabulary.find(kEndOfText); end != vocabulary.end() && end->is_number_integer()) {
    added.push_back({.id = end->get<std::int32_t>(), .piece = std::string(kEndOfText)});
  }
  const auto byte_level = [](bool space) {
    return json{{"type", "ByteLevel"}, {"add_prefix_space", space}, {"trim_offsets", true}, {"use_regex", true}};
  };
  return tokenizer_json_text(std::move(added), {{"normalizer", nullptr},
                                                {"pre_tokenizer", byte_level(space_first)},
                                                {"post_processor", nullptr},
                                                {"decoder", byte_level(true)},
                                                {"model",
                                                 {{"type", "BPE"},
                                                  {"dropout", nullptr},
                                                  {"unk_token", nullptr},
                                                  {"continuing_subword_prefix", ""},
                                                  {"end_of_word_suffix", ""},
                                                  {"fuse_unk", false},
                                                  {"byte_fallback", false},
                                                  {"ignore_merges", false},
                                                  {"vocab", vocabulary},
                                                  {"merges", merges}}}});
}

}  // namespace attend
