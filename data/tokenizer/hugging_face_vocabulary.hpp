// The tokenizer in the Hugging Face directory of a BERT or GPT-2 model.
#pragma once

#include <filesystem>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// The SentencePiece model that `attend export` adds to such a directory for `attend import`; transformers reads
// tokenizer.json instead.
inline constexpr const char* kSentencePieceFile = "sentencepiece.model";

// Reads DIRECTORY/sentencepiece.model, or else tokenizer.json, or else vocab.txt (one piece per line) with the
// do_lower_case, strip_accents and tokenize_chinese_chars of an optional tokenizer_config.json. Throws UserError naming
// the file as load_encoder_tokenizer does.
Tokenizer import_bert_tokenizer(const std::filesystem::path& directory);

// Reads DIRECTORY/sentencepiece.model, or else tokenizer.json, or else vocab.json and merges.txt (a merge per line)
// with the add_prefix_space of an optional tokenizer_config.json. Throws UserError naming the file as Tokenizer::load
// does.
Tokenizer import_gpt2_tokenizer(const std::filesystem::path& directory);

}  // namespace attend
