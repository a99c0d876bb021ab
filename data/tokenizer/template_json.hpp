// The parts common to every tokenizer.json: its special tokens, and the template [CLS] A [SEP] B [SEP].
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attend {

struct SpecialToken {
  std::int32_t id = 0;
  std::string piece;
};

nlohmann::json added_tokens_json(std::vector<SpecialToken> tokens);
nlohmann::json template_json(const SpecialToken& cls, const SpecialToken& sep);

}  // namespace attend
