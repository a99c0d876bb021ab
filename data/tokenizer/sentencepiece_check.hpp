// The validation of a SentencePiece model.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace attend {

// The rules of a SentencePiece model's normalisation table, read from its trie (for its layout see
// sentencepiece_check.cpp). Normalisation scans a text from its start and applies the longest matching rule.

// The replacement of every key of a validated table. Throws UserError if it has more rules than any real table.
std::map<std::string, std::string> normalisation_rules(std::string_view table);

// The number of rules that differ from composition (NFC), replacement of single characters, and composition again.
std::size_t num_rules_beyond_nfc(const std::map<std::string, std::string>& rules);

// Validates a SentencePiece model before the library reads it: the packaged 0.1.97 trusts its input (CVE-2026-1260,
// and out-of-bounds reads through a crafted normalisation table or deeply nested symbols).
//
// Walks the protocol buffers of sentencepiece_model.proto and requires: every length within the file; pieces that are
// unique, short, valid UTF-8 without NUL, with a known type and a finite score; exactly one unknown piece; byte pieces
// only as a full set; a normalisation table whose trie stays in bounds. Training options that loading never uses are
// not checked.

// Throws UserError with the reason; `name` is the model's name (path) in the message.
void check_sentencepiece_model(std::string_view bytes, const std::string& name);

}  // namespace attend
