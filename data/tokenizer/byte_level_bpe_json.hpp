// The file of a byte-level BPE: tokenizer.json as Hugging Face's `tokenizers` writes it for GPT-2. Features that
// GPT-2's lacks are refused by name; truncation, padding, post_processor and decoder are ignored, since they do not
// affect the pieces of a text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "data/tokenizer/byte_level_bpe.hpp"

namespace attend {

// True if the file has a model with merges.
bool is_bpe_json(const nlohmann::json& file);

// `file` must satisfy is_bpe_json(). Throws UserError naming the file `name` and the expectation.
ByteLevelBpe read_byte_level_bpe_json(const nlohmann::json& file, const std::string& name);

// The content of tokenizer.json for GPT-2's older files: the object of vocab.json, the array of the lines of
// merges.txt, and add_prefix_space of tokenizer_config.json.
std::string to_byte_level_bpe_json(const nlohmann::json& vocabulary, const nlohmann::json& merges, bool space_first);

}  // namespace attend
