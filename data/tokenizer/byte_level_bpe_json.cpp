#include "data/tokenizer/byte_level_bpe_json.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "data/tokenizer/piece_ids.hpp"
#include "data/tokenizer/template_json.hpp"

namespace attend {
namespace {

using nlohmann::json;

constexpr const char* kGpt2Remedy = "attend reads tokenizers of BERT and of GPT-2";
constexpr const char* kOtherCopy = "use another copy";

// Throws UserError unless the member `key` of an object is one of `allowed`, of which null is also a missing one.
void check_member(const json& object, const char* key, std::initializer_list<json> allowed, const std::string& name) {
  const auto found = object.find(key);
  const json value = found == object.end() ? json() : *found;
  if (std::ranges::find(allowed, value) != allowed.end()) return;
  throw UserError(name + ": \"" + key + "\" is " + value.dump() + ", expected " + allowed.begin()->dump(), kGpt2Remedy);
}

// A merge is an array of two pieces or, in older files, a text with a space between them.
std::pair<std::string, std::string> read_merge(const json& merge, const std::string& name) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (merge.is_string()) {
    const auto text = merge.get<std::string>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  throw UserError(name + ": the merge " + merge.dump() + ", expected two pieces with a space between them", kOtherCopy);
}

// Adds the tokens of "added_tokens" to the vocabulary, which need not have them, and gives their ids. Those that are
// not special are refused: Hugging Face finds them in a text before anything else.
std::vector<std::int32_t> add_tokens(const json& file, json& vocabulary, const std::string& name) {
  std::vector<std::int32_t> special;
  const auto added = file.find("added_tokens");
  if (added == file.end() || added->is_null()) return special;
  if (!added->is_array()) throw UserError(name + ": \"added_tokens\" is not an array", kOtherCopy);
  for (const json& token : *added) {
    if (!token.is_object()) throw UserError(name + ": an added token is not an object", kOtherCopy);
    const auto content = json_member<std::string>(token, "content", name);
    const auto id = json_member<std::int32_t>(token, "id", name);
    if (!json_member<bool>(token, "special", name)) {
      throw UserError(name + ": the added token \"" + content + "\" is not special, expected special ones only",
                      kGpt2Remedy);
    }
    const auto known = vocabulary.find(content);
    if (known == vocabulary.end()) {
      vocabulary[content] = token["id"];
    } else if (*known != id) {
      throw UserError(name + ": the added token \"" + content + "\" has the id " + std::to_string(id) +
                          ", but in the vocabulary " + known->dump(),
                      kOtherCopy);
    }
    special.push_back(id);
  }
  return special;
}

}  // namespace

bool is_bpe_json(const json& file) {
  if (!file.is_object()) return false;
  const auto model = file.find("model");
  return model != file.end() && model->is_object() && model->contains("merges");
}

ByteLevelBpe read_byte_level_bpe_json(const json& file, const std::string& name) {
  ensure(is_bpe_json(file), "a model with merges");
  const json& model = file["model"];
  check_member(model, "type", {"BPE", nullptr}, name);
  check_member(model, "dropout", {nullptr, 0}, name);
  check_member(model, "continuing_subword_prefix", {"", nullptr}, name);
  check_member(model, "end_of_word_suffix", {"", nullptr}, name);
  check_member(model, "byte_fallback", {false, nullptr}, name);
  check_member(model, "ignore_merges", {false, nullptr}, name);
  check_member(file, "normalizer", {nullptr}, name);
  const auto words = file.find("pre_tokenizer");
  if (words == file.end() || !words->is_object() || words->value("type", json()) != "ByteLevel") {
    throw UserError(name + ": \"pre_tokenizer\" is not of type ByteLevel", kGpt2Remedy);
  }
  check_member(*words, "use_regex", {true, nullptr}, name);
  const auto vocabulary = model.find("vocab");
  if (vocabulary == model.end() || !vocabulary->is_object()) {
    throw UserError(name + ": no object \"vocab\" in \"model\", expected pieces with their ids", kOtherCopy);
  }
  const json& merges = model["merges"];
  if (!merges.is_array()) throw UserError(name + ": \"merges\" is not an array", kOtherCopy);
  ByteLevelBpeFile result{.pieces = {}, .space_first = json_member<bool>(*words, "add_prefix_space", name)};
  result.merges.reserve(merges.size());
  for (const json& merge : merges) result.merges.push_back(read_merge(merge, name));
  json all = *vocabulary;
  result.special = add_tokens(file, all, name);
  result.pieces = pieces_by_id(all, name);
  return {std::move(result), name};
}

std::string to_byte_level_bpe_json(const json& vocabulary, const json& merges, bool space_first) {
  std::vector<SpecialToken> added;
  if (const auto end = vocabulary.find(kEndOfText); end != vocabulary.end() && end->is_number_integer()) {
    added.push_back({.id = end->get<std::int32_t>(), .piece = std::string(kEndOfText)});
  }
  const auto byte_level = [](bool space) {
    return json{{"type", "ByteLevel"}, {"add_prefix_space", space}, {"trim_offsets", true}, {"use_regex", true}};
  };
  const json file = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added_tokens_json(std::move(added))},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", byte_level(space_first)},
                     {"post_processor", nullptr},
                     {"decoder", byte_level(true)},
                     {"model",
                      {{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", ""},
                       {"end_of_word_suffix", ""},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"ignore_merges", false},
                       {"vocab", vocabulary},
                       {"merges", merges}}}};
  return file.dump() + "\n";
}

}  // namespace attend
