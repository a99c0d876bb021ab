#include "data/tokenizer/wordpiece_json.hpp"

#include <array>

#include "core/error.hpp"
#include "core/json.hpp"
#include "data/tokenizer/piece_ids.hpp"
#include "data/tokenizer/template_json.hpp"

namespace attend {
namespace {

using nlohmann::json;

constexpr const char* kRemedy = "attend reads tokenizers of BERT and of GPT-2; use the model's vocab.txt instead";

// The member `key` of `object`, which must be an object of the given type.
const json& part(const json& file, const char* key, const char* type, const std::string& name) {
  const auto found = file.find(key);
  if (found == file.end() || !found->is_object()) {
    throw UserError(name + ": no object \"" + key + "\", expected one of type " + type, kRemedy);
  }
  const auto other = found->find("type");
  if (other == found->end() || *other != type) {
    throw UserError(name + ": \"" + key + "\" is of type " + (other == found->end() ? "null" : other->dump()) +
                        ", expected " + type,
                    kRemedy);
  }
  return *found;
}

void expect(const json& object, const char* key, const json& value, const std::string& name) {
  const auto found = object.find(key);
  if (found == object.end() || *found != value) {
    throw UserError(name + ": \"" + key + "\" is " + (found == object.end() ? "missing" : found->dump()) +
                        ", expected " + value.dump(),
                    kRemedy);
  }
}

// Added tokens are matched before anything else. Special ones may be ignored, since text never becomes them here.
void check_added_tokens(const json& file, const WordPiece& vocabulary, const std::string& name) {
  const auto added = file.find("added_tokens");
  if (added == file.end() || added->is_null()) return;
  if (!added->is_array()) throw UserError(name + ": \"added_tokens\" is not an array", "use another copy");
  const SpecialIds ids = vocabulary.special();
  const std::array special{ids.pad, ids.unk, ids.cls, ids.sep, ids.mask};
  for (const json& token : *added) {
    if (!token.is_object()) throw UserError(name + ": an added token is not an object", "use another copy");
    const auto content = json_member<std::string>(token, "content", name);
    const auto id = json_member<std::int32_t>(token, "id", name);
    bool is_special = false;
    for (const std::int32_t k : special) is_special |= k == id && vocabulary.piece(k) == content;
    if (!is_special) {
      throw UserError(name + ": the added token \"" + content + "\", id " + std::to_string(id) +
                          ", expected only [PAD], [UNK], [CLS], [SEP] and [MASK]",
                      kRemedy);
    }
  }
}

}  // namespace

WordPiece read_wordpiece_json(const json& file, const std::string& name) {
  if (!file.is_object()) throw UserError(name + ": not an object, expected a tokenizer.json", kRemedy);
  const json& model = part(file, "model", "WordPiece", name);
  const json& normaliser = part(file, "normalizer", "BertNormalizer", name);
  part(file, "pre_tokenizer", "BertPreTokenizer", name);
  expect(model, "unk_token", "[UNK]", name);
  expect(model, "continuing_subword_prefix", "##", name);
  expect(normaliser, "clean_text", true, name);
  const bool lower_case = json_member<bool>(normaliser, "lowercase", name);
  const auto accents = normaliser.find("strip_accents");
  const bool accents_follow = accents == normaliser.end() || accents->is_null();
  const WordPieceConfig config{
      .lower_case = lower_case,
      .strip_accents = accents_follow ? lower_case : json_member<bool>(normaliser, "strip_accents", name),
      .split_ideographs = json_member<bool>(normaliser, "handle_chinese_chars", name),
      .longest_word = json_member<std::int64_t>(model, "max_input_chars_per_word", name)};
  if (config.longest_word < 0) {
    throw UserError(
        name + ": \"max_input_chars_per_word\" is " + std::to_string(config.longest_word) + ", expected 0 or more",
        "use another copy");
  }
  const auto vocabulary = model.find("vocab");
  if (vocabulary == model.end() || !vocabulary->is_object()) {
    throw UserError(name + ": no object \"vocab\" in \"model\", expected pieces with their ids", "use another copy");
  }
  WordPiece result(pieces_by_id(*vocabulary, name), config, name);
  check_added_tokens(file, result, name);
  return result;
}

std::string to_wordpiece_json(const WordPiece& vocabulary) {
  json ids = json::object();
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) ids[vocabulary.piece(id)] = id;
  const WordPieceConfig& config = vocabulary.config();
  const SpecialIds special = vocabulary.special();
  const auto token = [&](std::int32_t id) { return SpecialToken{.id = id, .piece = vocabulary.piece(id)}; };
  const json file = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added_tokens_json({token(special.pad), token(special.unk), token(special.cls),
                                                         token(special.sep), token(special.mask)})},
                     {"normalizer",
                      {{"type", "BertNormalizer"},
                       {"clean_text", true},
                       {"handle_chinese_chars", config.split_ideographs},
                       {"strip_accents", config.strip_accents},
                       {"lowercase", config.lower_case}}},
                     {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                     {"post_processor", template_json(token(special.cls), token(special.sep))},
                     {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", false}}},
                     {"model",
                      {{"type", "WordPiece"},
                       {"unk_token", "[UNK]"},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", config.longest_word},
                       {"vocab", std::move(ids)}}}};
  return file.dump() + "\n";
}

}  // namespace attend
