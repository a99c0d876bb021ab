// SentencePiece models (Kudo and Richardson 2018, arXiv 1808.06226): the content of their files, their validation, and
// the tokenizer that reads them by the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer_model.hpp"

namespace attend {

// The content of a SentencePiece model file (sentencepiece_model.proto) after validation.

enum class PieceType : std::uint64_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

enum class TokenizerType : std::uint64_t { unigram = 1, bpe = 2, word = 3, character = 4 };

// Views into the bytes of the model.
struct SentencePieceContent {
  struct Entry {
    std::string_view text;
    float score = 0;
    PieceType type = PieceType::normal;
  };
  std::vector<Entry> pieces;
  TokenizerType kind = TokenizerType::unigram;
  bool byte_fallback = false;
  bool space_is_suffix = false;
  std::string_view unknown = "<unk>";    // the unknown piece
  std::string_view normalisation_table;  // precompiled_charsmap
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

SentencePieceContent read_sentencepiece_content(std::string_view bytes);

// The rules of a SentencePiece model's normalisation table, read from its trie. Normalisation scans a text from its
// start and applies the longest matching rule.

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

// Validates the bytes before the library reads them. Throws UserError naming the model `name` if they are invalid.
std::unique_ptr<const TokenizerModel> make_sentencepiece_model(const std::string& bytes, const std::string& name);

}  // namespace attend
