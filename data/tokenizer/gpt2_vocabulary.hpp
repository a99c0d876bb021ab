// The tokenizer in the Hugging Face directory of a GPT-2 model.
#pragma once

#include <filesystem>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// Reads DIRECTORY/sentencepiece.model, which `attend export` adds for `attend import`, or else tokenizer.json, or else
// vocab.json and merges.txt (a merge per line) with the add_prefix_space of an optional tokenizer_config.json. Throws
// UserError naming the file as Tokenizer::load does.
Tokenizer import_gpt2_tokenizer(const std::filesystem::path& directory);

}  // namespace attend
