// The file of a WordPiece vocabulary: tokenizer.json as Hugging Face's `tokenizers` writes it for BERT. What of that
// format has no counterpart here is refused by name; truncation, padding, post_processor and decoder are not read, for
// they are nothing that a text's pieces depend on. Written is what `tokenizers` loads (docs/formats.md).
#pragma once

#include <string>
#include <string_view>

#include "data/tokenizer/wordpiece.hpp"

namespace attend {

// Whether a tokenizer's bytes are such a file, or SentencePiece's protocol buffers, which no brace begins: a field of
// that number and type there is none.
inline bool is_wordpiece_json(std::string_view bytes) { return bytes.starts_with('{'); }

// UserError naming the file `name` and what was expected there.
WordPiece parse_wordpiece_json(const std::string& bytes, const std::string& name);

// The same bytes for the same pieces and config.
std::string to_wordpiece_json(const WordPiece& vocabulary);

}  // namespace attend
