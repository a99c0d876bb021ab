// The parts common to every tokenizer.json: its special tokens, and the templates of the texts that a model reads.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// True if the bytes of a tokenizer's file are a tokenizer.json rather than a SentencePiece model, whose protocol
// buffers cannot start with a brace: they have no field of that number and type.
inline bool is_tokenizer_json(std::string_view bytes) { return bytes.starts_with('{'); }

struct SpecialToken {
  std::int32_t id = 0;
  std::string piece;
};

nlohmann::json added_tokens_json(std::vector<SpecialToken> tokens);
// [CLS] A [SEP] B [SEP].
nlohmann::json template_json(const SpecialToken& cls, const SpecialToken& sep);
// </s> A, and </s> A B.
nlohmann::json template_json(const SpecialToken& end);

}  // namespace attend
