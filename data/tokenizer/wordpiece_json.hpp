// The file of a WordPiece vocabulary: tokenizer.json as Hugging Face's `tokenizers` writes it for BERT. Unsupported
// features are refused by name; truncation, padding, post_processor and decoder are ignored, since they do not affect
// the pieces of a text. The output can be loaded by `tokenizers` (docs/formats.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "data/tokenizer/wordpiece.hpp"

namespace attend {

// Throws UserError naming the file `name` and the expectation.
WordPiece read_wordpiece_json(const nlohmann::json& file, const std::string& name);

std::string to_wordpiece_json(const WordPiece& vocabulary);

}  // namespace attend
