// The content of a SentencePiece model file (sentencepiece_model.proto) after validation.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace attend {

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

}  // namespace attend
