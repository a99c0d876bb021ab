// Tokenizers of small texts.
#pragma once

#include <string>

#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"

namespace attend {

inline Tokenizer tokenizer_of(const std::string& text, const TokenizerConfig& config) {
  const TemporaryDirectory directory;
  return train_tokenizer({directory.write("text", text)}, config);
}

// Its pieces are the characters of the text.
inline Tokenizer letters_of(const std::string& text) { return tokenizer_of(text, {.type = TokenizerType::character}); }

}  // namespace attend
