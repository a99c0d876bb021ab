#include "data/tokenizer/template_json.hpp"

#include <algorithm>

namespace attend {

using nlohmann::json;

json added_tokens_json(std::vector<SpecialToken> tokens) {
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  json result = json::array();
  for (const auto& token : tokens) {
    result.push_back({{"id", token.id},
                      {"content", token.piece},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  }
  return result;
}

json template_json(const SpecialToken& cls, const SpecialToken& sep) {
  const auto special = [](const SpecialToken& token, int type) {
    return json{{"SpecialToken", {{"id", token.piece}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name, int type) {
    return json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  const auto definition = [](const SpecialToken& token) {
    return json{{"id", token.piece}, {"ids", json::array({token.id})}, {"tokens", json::array({token.piece})}};
  };
  return {
      {"type", "TemplateProcessing"},
      {"single", json::array({special(cls, 0), sequence("A", 0), special(sep, 0)})},
      {"pair", json::array({special(cls, 0), sequence("A", 0), special(sep, 0), sequence("B", 1), special(sep, 1)})},
      {"special_tokens", {{cls.piece, definition(cls)}, {sep.piece, definition(sep)}}}};
}

}  // namespace attend
