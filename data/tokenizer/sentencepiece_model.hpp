// SentencePiece models (Kudo and Richardson 2018, arXiv 1808.06226), through their library.
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer/tokenizer_model.hpp"

namespace attend {

// UserError naming the model `name` if the bytes are not a valid model; they are checked before the library sees them.
std::unique_ptr<const TokenizerModel> make_sentencepiece_model(const std::string& bytes, const std::string& name);

}  // namespace attend
