// The rules of a SentencePiece model's normalisation table, read from its trie (for its layout see
// sentencepiece_check.cpp). Normalisation scans a text from its start and applies the longest matching rule.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace attend {

// The replacement of every key of a validated table. Throws UserError if it has more rules than any real table.
std::map<std::string, std::string> normalisation_rules(std::string_view table);

// The number of rules that differ from composition (NFC), replacement of single characters, and composition again.
std::size_t num_rules_beyond_nfc(const std::map<std::string, std::string>& rules);

}  // namespace attend
