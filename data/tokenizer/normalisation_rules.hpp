// The rules of a SentencePiece model's normalisation table, out of its trie (sentencepiece_check.cpp tells how that is
// laid out). Of a text the longest rule that matches is taken, from its start on.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace attend {

// What is replaced by what. The table must have been checked; UserError when it has more rules than any real one.
std::map<std::string, std::string> normalisation_rules(std::string_view table);

// How many of the rules do something else than this: compose as Unicode's NFC does, replace single characters by their
// rules, and compose again.
std::size_t num_rules_beyond_nfc(const std::map<std::string, std::string>& rules);

}  // namespace attend
