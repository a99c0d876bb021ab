// SentencePiece models (Kudo and Richardson 2018, arXiv 1808.06226), read by the SentencePiece library.
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer/tokenizer_model.hpp"

namespace attend {

// Validates the bytes before the library reads them. Throws UserError naming the model `name` if they are invalid.
std::unique_ptr<const TokenizerModel> make_sentencepiece_model(const std::string& bytes, const std::string& name);

}  // namespace attend
