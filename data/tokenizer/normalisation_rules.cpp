#include "data/tokenizer/normalisation_rules.hpp"

#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "core/utf8.hpp"

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

}  // namespace attend
