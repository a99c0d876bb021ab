// The file of a WordPiece vocabulary: tokenizer.json as Hugging Face's `tokenizers` writes it for BERT. Unsupported
// features are refused by name; truncation, padding, post_processor and decoder are ignored, since they do not affect
// the pieces of a text. The output can be loaded by `tokenizers` (docs/formats.md).
#pragma once

#include <string>
#include <string_view>

#include "data/tokenizer/wordpiece.hpp"

namespace attend {

// True if the bytes are such a file rather than a SentencePiece model, whose protocol buffers cannot start with a
// brace: they have no field of that number and type.
inline bool is_wordpiece_json(std::string_view bytes) { return bytes.starts_with('{'); }

// Throws UserError naming the file `name` and the expectation.
WordPiece parse_wordpiece_json(const std::string& bytes, const std::string& name);

// Equal pieces and options give equal bytes.
std::string to_wordpiece_json(const WordPiece& vocabulary);

}  // namespace attend
