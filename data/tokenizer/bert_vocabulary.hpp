// The tokenizer of a BERT as Hugging Face's directories hold it.
#pragma once

#include <filesystem>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// A SentencePiece model in such a directory, which `attend export` writes for `attend import`; transformers reads the
// tokenizer.json beside it.
inline constexpr const char* kSentencePieceFile = "sentencepiece.model";

// Out of DIRECTORY/sentencepiece.model, or else tokenizer.json, or vocab.txt, a piece a line, with do_lower_case,
// strip_accents and tokenize_chinese_chars of tokenizer_config.json where there is one. UserError as
// load_encoder_tokenizer, naming the file.
Tokenizer import_bert_tokenizer(const std::filesystem::path& directory);

}  // namespace attend
