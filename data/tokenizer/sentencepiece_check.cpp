#include "data/tokenizer/sentencepiece_check.hpp"

#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "core/error.hpp"
#include "core/protobuf.hpp"
#include "core/text.hpp"
#include "data/tokenizer/sentencepiece_model.hpp"

namespace attend {
namespace {

constexpr std::size_t kMaxNodes = 4'000'000;  // a crafted trie may have far more paths than nodes
constexpr std::size_t kLongestKey = 1024;     // in bytes

struct Trie {
  std::vector<std::uint32_t> units;
  std::string_view strings;
  std::map<std::string, std::string> rules;
  std::size_t num_nodes = 0;

  static std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

  // Collects every key below the node at `base`, which is reached by `key`.
  void collect(std::size_t base, std::string& key) {
    if (++num_nodes > kMaxNodes || key.size() > kLongestKey) {
      throw UserError("the normalisation table has too many rules, or too long ones");
    }
    for (std::size_t c = 0; c < 256; ++c) {
      const std::size_t at = base ^ c;
      if ((units[at] & 0x800000FF) != c) continue;
      const std::size_t child = at ^ offset_of(units[at]);
      key += static_cast<char>(c);
      if ((units[at] >> 8) & 1) rules[key] = strings.data() + (units[child] & 0x7FFFFFFF);
      collect(child, key);
      key.pop_back();
    }
  }
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

}  // namespace

std::map<std::string, std::string> normalisation_rules(std::string_view table) {
  if (table.empty()) return {};
  std::uint32_t trie_bytes = 0;
  std::memcpy(&trie_bytes, table.data(), sizeof trie_bytes);
  Trie trie{.units = std::vector<std::uint32_t>(trie_bytes / 4), .strings = table.substr(4 + trie_bytes), .rules = {}};
  std::memcpy(trie.units.data(), table.data() + 4, trie_bytes);
  std::string key;
  trie.collect(Trie::offset_of(trie.units[0]), key);
  return std::move(trie.rules);
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

namespace {

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
  static void check(std::string_view table) {
    if (table.empty()) return;
    std::uint32_t trie_bytes = 0;
    if (table.size() <= sizeof trie_bytes) reject("the normalisation table is truncated");
    std::memcpy(&trie_bytes, table.data(), sizeof trie_bytes);
    table.remove_prefix(sizeof trie_bytes);
    if (trie_bytes >= table.size() || trie_bytes < 4 || trie_bytes % 4 != 0) {
      reject("the normalisation table does not fit its trie");
    }
    NormalisationTable(table.substr(0, trie_bytes), table.substr(trie_bytes)).check();
  }

 private:
  NormalisationTable(std::string_view trie, std::string_view strings) : units_(trie.size() / 4), strings_(strings) {
    std::memcpy(units_.data(), trie.data(), trie.size());
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

  static std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

  // The largest number of keys that end along one path below the node at `base`.
  int matches_from(std::size_t base, int depth) {
    if ((base | 0xFF) >= units_.size()) reject("the trie of the normalisation table points outside itself");
    if (depth > kMaxTrieDepth) reject("the trie of the normalisation table is too deep");
    int most = 0;
    for (std::size_t c = 0; c < 256; ++c) {
      const std::size_t at = base ^ c;
      const std::uint32_t unit = units_[at];
      constexpr std::uint32_t kLabel = 0x800000FF;
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

  static constexpr int kUnseen = -1;
  static constexpr int kOpen = -2;  // on the current path
  std::vector<std::uint32_t> units_;
  std::vector<int> matches_;
  std::string_view strings_;
};

class CheckedPieces {
 public:
  void add(std::string_view bytes) {
    const std::string what = "piece " + std::to_string(seen_.size());
    std::string_view text;
    PieceType type = PieceType::normal;
    protobuf::Message message(bytes);
    while (const auto field = message.next()) {
      if (field->number == 1) text = field->content();
      if (field->number == 2 && !(std::abs(field->number32()) <= kMaxScore)) reject(what + " has a score out of range");
      if (field->number == 3) type = static_cast<PieceType>(field->varint());
    }
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
  protobuf::Message message(bytes);
  int num_tables = 0;
  while (const auto field = message.next()) {
    if (field->number == 2) {
      if (++num_tables > 1) reject("two normalisation tables");
      NormalisationTable::check(field->content());
    }
    if (field->number >= 3 && field->number <= 5) field->varint();
  }
}

// The training options that a loaded model uses.
struct TrainerOptions {
  bool byte_fallback = false;
  std::string unknown = "<unk>";
};

TrainerOptions check_trainer(std::string_view bytes) {
  TrainerOptions options;
  protobuf::Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number == 3 && (field->varint() < 1 || field->varint() > 4)) reject("an unknown model type");
    if (field->number == 35) options.byte_fallback = field->varint() != 0;
    // The texts of the special pieces, and the surface of an unknown one.
    if (field->number >= 44 && field->number <= 48) {
      check_text(field->content(), kMaxPieceBytes, "the name of a special piece");
    }
    if (field->number == 45) options.unknown = field->content();
  }
  return options;
}

void check_self_test(std::string_view bytes) {
  protobuf::Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number != 1) continue;
    protobuf::Message sample(field->content());
    while (const auto text = sample.next()) {
      if (text->number == 1 || text->number == 2) check_text(text->content(), 1 << 16, "a self-test");
    }
  }
}

void check_model(std::string_view bytes) {
  CheckedPieces pieces;
  TrainerOptions options;
  std::array<int, 6> count{};
  protobuf::Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number > 5) continue;
    if (field->number > 1 && ++count[field->number] > 1) reject("a part of the model is a duplicate");
    if (field->number == 1) pieces.add(field->content());
    if (field->number == 2) options = check_trainer(field->content());
    if (field->number == 4) check_self_test(field->content());
    if (field->number == 3 || field->number == 5) check_normaliser(field->content());  // and the denormaliser
  }
  pieces.check(options.byte_fallback);
  if (count[2] == 0 || count[3] == 0) reject("truncated: its options are missing");  // they follow the pieces
  if (!pieces.contains(options.unknown)) reject("the unknown piece " + options.unknown + " is missing");
}

}  // namespace

void check_sentencepiece_model(std::string_view bytes, const std::string& name) {
  try {
    check_model(bytes);
  } catch (const UserError& problem) {
    throw UserError(name + ": not a usable tokenizer: " + problem.what(),
                    "check that it is the right file, or train a tokenizer with attend vocab");
  }
}

}  // namespace attend
