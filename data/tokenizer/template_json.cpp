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

namespace {

json special_part(const SpecialToken& token, int type) {
  return {{"SpecialToken", {{"id", token.piece}, {"type_id", type}}}};
}

json text_part(const char* name, int type) { return {{"Sequence", {{"id", name}, {"type_id", type}}}}; }

json definition_of(const SpecialToken& token) {
  return {{"id", token.piece}, {"ids", json::array({token.id})}, {"tokens", json::array({token.piece})}};
}

}  // namespace

json template_json(const SpecialToken& cls, const SpecialToken& sep) {
  return {{"type", "TemplateProcessing"},
          {"single", json::array({special_part(cls, 0), text_part("A", 0), special_part(sep, 0)})},
          {"pair", json::array({special_part(cls, 0), text_part("A", 0), special_part(sep, 0), text_part("B", 1),
                                special_part(sep, 1)})},
          {"special_tokens", {{cls.piece, definition_of(cls)}, {sep.piece, definition_of(sep)}}}};
}

json template_json(const SpecialToken& end) {
  return {{"type", "TemplateProcessing"},
          {"single", json::array({special_part(end, 0), text_part("A", 0)})},
          {"pair", json::array({special_part(end, 0), text_part("A", 0), text_part("B", 0)})},
          {"special_tokens", {{end.piece, definition_of(end)}}}};
}

}  // namespace attend
