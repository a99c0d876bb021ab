#include "data/tokenizer/json_parts.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/json.hpp"

namespace attend {
namespace {

using nlohmann::json;

constexpr const char* kOtherCopy = "use another copy";

json added_tokens_json(std::vector<SpecialToken> tokens) {
  std::ranges::sort(tokens, {}, &SpecialToken::id);
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

json special_part(const SpecialToken& token, int type) {
  return {{"SpecialToken", {{"id", token.piece}, {"type_id", type}}}};
}

json text_part(const char* name, int type) { return {{"Sequence", {{"id", name}, {"type_id", type}}}}; }

json definition_of(const SpecialToken& token) {
  return {{"id", token.piece}, {"ids", json::array({token.id})}, {"tokens", json::array({token.piece})}};
}

}  // namespace

const json& typed_member(const json& object, const char* key, const char* type, const std::string& name) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) {
    throw UserError(name + ": no object \"" + key + "\", expected one of type " + type, kOtherTokenizer);
  }
  const auto other = found->find("type");
  if (other != found->end() && *other == type) return *found;
  throw UserError(
      name + ": \"" + key + "\" is of type " + (other == found->end() ? "null" : other->dump()) + ", expected " + type,
      kOtherTokenizer);
}

void check_member(const json& object, const char* key, std::initializer_list<json> allowed, const std::string& name) {
  const auto found = object.find(key);
  const json value = found == object.end() ? json() : *found;
  if (std::ranges::find(allowed, value) != allowed.end()) return;
  throw UserError(name + ": \"" + key + "\" is " + value.dump() + ", expected " + allowed.begin()->dump(),
                  kOtherTokenizer);
}

bool flag_of(const json& object, const char* key, bool otherwise, const std::string& name) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? otherwise : json_member<bool>(object, key, name);
}

const json& vocabulary_of(const json& model, const std::string& name) {
  const auto vocabulary = model.find("vocab");
  if (vocabulary != model.end() && vocabulary->is_object()) return *vocabulary;
  throw UserError(name + ": no object \"vocab\" in \"model\", expected pieces with their ids", kOtherCopy);
}

std::vector<std::string> pieces_by_id(const json& vocabulary, const std::string& name) {
  std::vector<std::string> pieces(vocabulary.size());
  std::vector<bool> seen(pieces.size());
  for (const auto& [piece, id] : vocabulary.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= pieces.size()) {
      throw UserError(name + ": \"" + piece + "\" has the id " + id.dump() + ", expected one from 0 to " +
                          std::to_string(pieces.size() - 1),
                      kOtherCopy);
    }
    const auto k = id.get<std::size_t>();
    if (seen[k]) {
      throw UserError(name + ": \"" + piece + "\" and \"" + pieces[k] + "\" both have the id " + std::to_string(k),
                      kOtherCopy);
    }
    seen[k] = true;
    pieces[k] = piece;
  }
  return pieces;
}

void for_added_tokens(const json& file, const std::string& name,
                      const std::function<void(const SpecialToken& token, const json& entry)>& take) {
  const auto added = file.find("added_tokens");
  if (added == file.end() || added->is_null()) return;
  if (!added->is_array()) throw UserError(name + ": \"added_tokens\" is not an array", kOtherCopy);
  for (const json& entry : *added) {
    if (!entry.is_object()) throw UserError(name + ": an added token is not an object", kOtherCopy);
    take(
        {.id = json_member<std::int32_t>(entry, "id", name), .piece = json_member<std::string>(entry, "content", name)},
        entry);
  }
}

std::string tokenizer_json_text(std::vector<SpecialToken> special, json parts) {
  parts["version"] = "1.0";
  parts["truncation"] = parts["padding"] = nullptr;
  parts["added_tokens"] = added_tokens_json(std::move(special));
  return parts.dump() + "\n";
}

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
