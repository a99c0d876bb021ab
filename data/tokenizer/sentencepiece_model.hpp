// SentencePiece models: the content of their files, and the tokenizer that reads them by the library.
#pragma once

#include <cstdint>
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
  std::string_view normalisation_table;  // precompiled_charsmap
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

SentencePieceContent read_sentencepiece_content(std::string_view bytes);

// SentencePiece models (Kudo and Richardson 2018, arXiv 1808.06226), read by the SentencePiece library.

// Validates the bytes before the library reads them. Throws UserError naming the model `name` if they are invalid.
std::unique_ptr<const TokenizerModel> make_sentencepiece_model(const std::string& bytes, const std::string& name);

}  // namespace attend
