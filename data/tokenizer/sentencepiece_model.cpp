#include "data/tokenizer/sentencepiece_model.hpp"

#include <sentencepiece_processor.h>
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <unordered_set>

#include "core/error.hpp"
#include "core/protobuf.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

SentencePieceContent::Entry read_piece(std::string_view bytes) {
  SentencePieceContent::Entry piece;
  for (protobuf::Message message(bytes); const auto field = message.next();) {
    if (field->number == 1) piece.text = field->content();
    if (field->number == 2) piece.score = field->number32();
    if (field->number == 3) piece.type = static_cast<PieceType>(field->varint());
  }
  return piece;
}

void read_trainer(std::string_view bytes, SentencePieceContent& content) {
  for (protobuf::Message message(bytes); const auto field = message.next();) {
    if (field->number == 3) content.kind = static_cast<TokenizerType>(field->varint());
    if (field->number == 24) content.space_is_suffix = field->varint() != 0;
    if (field->number == 35) content.byte_fallback = field->varint() != 0;
    if (field->number == 45) content.unknown = field->content();
  }
}

void read_normaliser(std::string_view bytes, SentencePieceContent& content) {
  for (protobuf::Message message(bytes); const auto field = message.next();) {
    if (field->number == 2) content.normalisation_table = field->content();
    if (field->number == 3) content.add_dummy_prefix = field->varint() != 0;
    if (field->number == 4) content.remove_extra_whitespaces = field->varint() != 0;
    if (field->number == 5) content.escape_whitespaces = field->varint() != 0;
  }
}

constexpr std::size_t kMaxNodes = 4'000'000;       // a crafted trie may have far more paths than nodes
constexpr std::size_t kLongestKey = 1024;          // in bytes
constexpr std::size_t kMaxPieceBytes = 4096;       // the library's trie builder recurses once per byte
constexpr std::size_t kMaxReplacementBytes = 256;  // of one normalised match
constexpr int kMaxTrieMatches = 32;                // nested keys of the normalisation table: the library's buffer
constexpr std::size_t kMaxNestedSymbols = 64;      // nested user-defined symbols: the library's buffer
constexpr int kMaxTrieDepth = 1024;
constexpr float kMaxScore = 1e9f;

// check_sentencepiece_model adds the name of the model to the message.
[[noreturn]] void reject(const std::string& what) { throw UserError(what); }

void check_text(std::string_view text, std::size_t max_bytes, const std::string& what) {
  if (text.size() > max_bytes) reject(what + " is " + std::to_string(text.size()) + " bytes long");
  if (text.find('\0') != std::string_view::npos) reject(what + " contains NUL");
  if (!is_utf8(text)) reject(what + " is not UTF-8");
}

// The normalisation table: the size of a trie, the trie, and the NUL-terminated strings that its values point into.
//
// The trie is a double array of 32-bit units (darts-clone): from the node at `base` the byte c leads to unit base ^ c,
// if that unit's label is c. The library reads base ^ c for any byte c of its input, so the block of 256 units around
// every reachable base must be inside the array.
class NormalisationTable {
 public:
  // `table` is not empty.
  explicit NormalisationTable(std::string_view table) {
    std::uint32_t trie_bytes = 0;
    if (table.size() <= sizeof trie_bytes) reject("the normalisation table is truncated");
    std::memcpy(&trie_bytes, table.data(), sizeof trie_bytes);
    table.remove_prefix(sizeof trie_bytes);
    if (trie_bytes >= table.size() || trie_bytes < 4 || trie_bytes % 4 != 0) {
      reject("the normalisation table does not fit its trie");
    }
    units_.resize(trie_bytes / 4);
    std::memcpy(units_.data(), table.data(), trie_bytes);
    strings_ = table.substr(trie_bytes);
  }

  void check() {
    if (strings_.back() != '\0') reject("the strings of the normalisation table are not terminated");
    if (!is_utf8(strings_)) reject("the strings of the normalisation table are not UTF-8");
    for (std::size_t begin = 0, end = 0; begin < strings_.size(); begin = end + 1) {
      end = strings_.find('\0', begin);
      if (end - begin > kMaxReplacementBytes) reject("a string of the normalisation table is too long");
    }
    matches_.assign(units_.size(), kUnseen);
    if (matches_from(offset_of(units_[0]), 0) > kMaxTrieMatches)
      reject("keys of the normalisation table are nested too deeply");
  }

  // The replacement of every key of a table that has passed check().
  std::map<std::string, std::string> rules() {
    std::map<std::string, std::string> rules;
    std::string key;
    std::size_t num_nodes = 0;
    collect(offset_of(units_[0]), key, rules, num_nodes);
    return rules;
  }

 private:
  static std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

  // The largest number of keys that end along one path below the node at `base`.
  int matches_from(std::size_t base, int depth) {
    if ((base | 0xFF) >= units_.size()) reject("the trie of the normalisation table points outside itself");
    if (depth > kMaxTrieDepth) reject("the trie of the normalisation table is too deep");
    int most = 0;
    for (std::size_t c = 0; c < 256; ++c) {
      const std::size_t at = base ^ c;
      const std::uint32_t unit = units_[at];
      if ((unit & kLabel) != c) continue;
      if (matches_[at] == kUnseen) {
        matches_[at] = kOpen;
        const std::size_t child = at ^ offset_of(unit);
        int below = matches_from(child, depth + 1);
        if ((unit >> 8) & 1) {
          check_value(units_[child] & 0x7FFFFFFF);
          ++below;
        }
        matches_[at] = below;
      }
      if (matches_[at] == kOpen) reject("the trie of the normalisation table has a cycle");
      most = std::max(most, matches_[at]);
    }
    return most;
  }

  void check_value(std::uint32_t value) const {
    const bool inside = value < strings_.size();
    if (!inside || utf8_length_at(strings_, value) == 0) reject("a value of the normalisation table is out of range");
  }

  // Adds every key below the node at `base`, which is reached by `key`.
  void collect(std::size_t base, std::string& key, std::map<std::string, std::string>& rules, std::size_t& num_nodes) {
    if (++num_nodes > kMaxNodes || key.size() > kLongestKey) {
      throw UserError("the normalisation table has too many rules, or too long ones");
    }
    for (std::size_t c = 0; c < 256; ++c) {
      const std::size_t at = base ^ c;
      if ((units_[at] & kLabel) != c) continue;
      const std::size_t child = at ^ offset_of(units_[at]);
      key += static_cast<char>(c);
      if ((units_[at] >> 8) & 1) rules[key] = strings_.data() + (units_[child] & 0x7FFFFFFF);
      collect(child, key, rules, num_nodes);
      key.pop_back();
    }
  }

  static constexpr std::uint32_t kLabel = 0x800000FF;
  static constexpr int kUnseen = -1;
  static constexpr int kOpen = -2;  // on the current path
  std::vector<std::uint32_t> units_;
  std::vector<int> matches_;
  std::string_view strings_;
};

std::string to_nfc(const std::string& text) {
  UErrorCode error = U_ZERO_ERROR;
  std::string result;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(error);
  ensure(U_SUCCESS(error), "ICU composes characters");
  nfc->normalize(icu::UnicodeString::fromUTF8(text), error).toUTF8String(result);
  ensure(U_SUCCESS(error), "ICU composes a text");
  return result;
}

class CheckedPieces {
 public:
  void add(std::string_view bytes) {
    const std::string what = "piece " + std::to_string(seen_.size());
    const auto [text, score, type] = read_piece(bytes);
    if (!(std::abs(score) <= kMaxScore)) reject(what + " has a score out of range");
    if (text.empty()) reject(what + " is empty");
    check_text(text, kMaxPieceBytes, what);
    if (!seen_.insert(text).second) reject(what + " is a duplicate");
    if (type < PieceType::normal || type > PieceType::byte) {
      reject(what + " has unknown type " + std::to_string(static_cast<std::uint64_t>(type)));
    }
    if (type == PieceType::byte) check_byte(text, what);
    if (type == PieceType::user_defined) symbols_.push_back(text);
    num_unknown_ += type == PieceType::unknown;
  }

  void check(bool byte_fallback) {
    if (seen_.empty()) reject("no pieces");
    if (num_unknown_ != 1) reject(std::to_string(num_unknown_) + " unknown pieces, expected 1");
    if (num_bytes_ != (byte_fallback ? 256 : 0)) reject(std::to_string(num_bytes_) + " byte pieces");
    // In sorted order, the symbols that are prefixes of a symbol are those still open before it.
    std::sort(symbols_.begin(), symbols_.end());
    std::vector<std::string_view> open;
    for (const auto symbol : symbols_) {
      while (!open.empty() && !symbol.starts_with(open.back())) open.pop_back();
      open.push_back(symbol);
      if (open.size() > kMaxNestedSymbols) reject("user-defined symbols are nested too deeply");
    }
  }

  bool contains(std::string_view text) const { return seen_.contains(text); }

 private:
  // A byte piece is written <0x0A>. Pieces are unique, so 256 of them cover all bytes.
  void check_byte(std::string_view text, const std::string& what) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>' || kDigits.find(text[3]) == kDigits.npos ||
        kDigits.find(text[4]) == kDigits.npos) {
      reject(what + " is not a valid byte piece");
    }
    ++num_bytes_;
  }

  std::unordered_set<std::string_view> seen_;
  std::vector<std::string_view> symbols_;
  int num_unknown_ = 0;
  int num_bytes_ = 0;
};

void check_normaliser(std::string_view bytes) {
  int num_tables = 0;
  for (protobuf::Message message(bytes); const auto field = message.next();) {
    if (field->number == 2) {
      if (++num_tables > 1) reject("two normalisation tables");
      if (!field->content().empty()) NormalisationTable(field->content()).check();
    }
    if (field->number >= 3 && field->number <= 5) field->varint();
  }
}

void check_trainer(std::string_view bytes) {
  for (protobuf::Message message(bytes); const auto field = message.next();) {
    if (field->number == 3 && (field->varint() < 1 || field->varint() > 4)) reject("an unknown model type");
    // The texts of the special pieces, and the surface of an unknown one.
    if (field->number >= 44 && field->number <= 48) {
      check_text(field->content(), kMaxPieceBytes, "the name of a special piece");
    }
  }
}

void check_self_test(std::string_view bytes) {
  for (protobuf::Message message(bytes); const auto field = message.next();) {
    if (field->number != 1) continue;
    for (protobuf::Message sample(field->content()); const auto text = sample.next();) {
      if (text->number == 1 || text->number == 2) check_text(text->content(), 1 << 16, "a self-test");
    }
  }
}

void check_model(std::string_view bytes) {
  CheckedPieces pieces;
  SentencePieceContent options;  // of training alone
  std::array<int, 6> count{};
  for (protobuf::Message message(bytes); const auto field = message.next();) {
    if (field->number > 5) continue;
    if (field->number > 1 && ++count[field->number] > 1) reject("a part of the model is a duplicate");
    if (field->number == 1) pieces.add(field->content());
    if (field->number == 2) {
      check_trainer(field->content());
      read_trainer(field->content(), options);
    }
    if (field->number == 4) check_self_test(field->content());
    if (field->number == 3 || field->number == 5) check_normaliser(field->content());  // and the denormaliser
  }
  pieces.check(options.byte_fallback);
  if (count[2] == 0 || count[3] == 0) reject("truncated: its options are missing");  // they follow the pieces
  if (!pieces.contains(options.unknown)) {
    reject("the unknown piece " + std::string(options.unknown) + " is missing");
  }
}

// With a valid model the library accepts any text and any of its own ids.
void check(const sentencepiece::util::Status& status) {
  if (!status.ok()) {
    throw UserError("the tokenizer's model is inconsistent: " + std::string(status.error_message()),
                    "train it again with attend vocab");
  }
}

class SentencePieceModel : public TokenizerModel {
 public:
  SentencePieceModel(const std::string& bytes, const std::string& name) {
    check_sentencepiece_model(bytes, name);
    if (const auto status = processor_.LoadFromSerializedProto(bytes); !status.ok()) {
      throw UserError(name + ": not a usable tokenizer: " + std::string(status.error_message()),
                      "check that it is the right file, or train a tokenizer with attend vocab");
    }
  }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<int> ids;
    check(processor_.Encode(text, &ids));
    return ids;
  }

  std::vector<Piece> encode_pieces(std::string_view text) const override {
    sentencepiece::ImmutableSentencePieceText encoded;
    check(processor_.Encode(text, encoded.mutable_proto()));
    std::vector<Piece> pieces;
    pieces.reserve(encoded.pieces_size());
    for (const auto& piece : encoded.pieces()) {
      pieces.push_back({static_cast<std::int32_t>(piece.id()), piece.piece(), piece.begin(), piece.end()});
    }
    return pieces;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    check(processor_.Decode(std::vector<int>(ids.begin(), ids.end()), &text));
    return text;
  }

  std::int32_t size() const override { return processor_.GetPieceSize(); }

  SpecialIds special() const override {
    return {.pad = processor_.pad_id(),
            .unk = processor_.unk_id(),
            .bos = processor_.bos_id(),
            .eos = processor_.eos_id(),
            .cls = control_id({"<cls>", "[CLS]"}),
            .sep = control_id({"<sep>", "[SEP]"}),
            .mask = control_id({"<mask>", "[MASK]"})};
  }

  const std::string& piece(std::int32_t id) const override { return processor_.IdToPiece(id); }

  bool begins_word(std::int32_t id) const override {
    return processor_.IsControl(id) || piece(id).starts_with(kSpaceMark);
  }

  std::int32_t id_of(std::string_view piece) const override { return processor_.PieceToId(piece); }

 private:
  // The first of `names` that is a control piece.
  std::int32_t control_id(std::initializer_list<std::string_view> names) const {
    for (const auto name : names) {
      const int id = processor_.PieceToId(name);
      if (processor_.IsControl(id)) return id;
    }
    return -1;
  }

  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

SentencePieceContent read_sentencepiece_content(std::string_view bytes) {
  SentencePieceContent content;
  for (protobuf::Message message(bytes); const auto field = message.next();) {
    if (field->number == 1) content.pieces.push_back(read_piece(field->content()));
    if (field->number == 2) read_trainer(field->content(), content);
    if (field->number == 3) read_normaliser(field->content(), content);
  }
  return content;
}

void check_sentencepiece_model(std::string_view bytes, const std::string& name) {
  try {
    check_model(bytes);
  } catch (const UserError& problem) {
    throw UserError(name + ": not a usable tokenizer: " + problem.what(),
                    "check that it is the right file, or train a tokenizer with attend vocab");
  }
}

std::map<std::string, std::string> normalisation_rules(std::string_view table) {
  return table.empty() ? std::map<std::string, std::string>() : NormalisationTable(table).rules();
}

std::size_t num_rules_beyond_nfc(const std::map<std::string, std::string>& rules) {
  std::size_t count = 0;
  for (const auto& [from, to] : rules) {
    const std::string composed = to_nfc(from);
    std::string replaced;
    for (std::size_t at = 0; at < composed.size();) {
      const std::string character(character_at(composed, at));
      const auto rule = rules.find(character);
      replaced += rule == rules.end() ? character : rule->second;
      at += character.size();
    }
    count += to_nfc(replaced) != to;
  }
  return count;
}

std::unique_ptr<const TokenizerModel> make_sentencepiece_model(const std::string& bytes, const std::string& name) {
  return std::make_unique<SentencePieceModel>(bytes, name);
}

}  // namespace attend
