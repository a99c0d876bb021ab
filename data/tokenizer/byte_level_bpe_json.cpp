#include "data/tokenizer/byte_level_bpe_json.hpp"

#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "data/tokenizer/json_parts.hpp"

namespace attend {
namespace {

using nlohmann::json;

// A merge is an array of two pieces or, in older files, one string with a space between them.
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
  throw UserError(name + ": the merge " + merge.dump() + ", expected two pieces with a space between them",
                  "use another copy");
}

// Adds the tokens of "added_tokens" to the vocabulary, which need not have them, and returns their ids. Tokens that
// are not special are refused: Hugging Face finds them in a text before anything else.
std::vector<std::int32_t> add_tokens(const json& file, json& vocabulary, const std::string& name) {
  std::vector<std::int32_t> special;
  for_added_tokens(file, name, [&](const SpecialToken& token, const json& entry) {
    if (!json_member<bool>(entry, "special", name)) {
      throw UserError(name + ": the added token \"" + token.piece + "\" is not special, expected special ones only",
                      kOtherTokenizer);
    }
    const auto known = vocabulary.emplace(token.piece, entry["id"]).first;
    if (*known != token.id) {
      throw UserError(name + ": the added token \"" + token.piece + "\" has the id " + std::to_string(token.id) +
                          ", but in the vocabulary " + known->dump(),
                      "use another copy");
    }
    special.push_back(token.id);
  });
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
  const json& words = typed_member(file, "pre_tokenizer", "ByteLevel", name);
  check_member(words, "use_regex", {true, nullptr}, name);
  json vocabulary = vocabulary_of(model, name);
  const json& merges = model["merges"];
  if (!merges.is_array()) throw UserError(name + ": \"merges\" is not an array", "use another copy");
  ByteLevelBpeFile result{.pieces = {}, .space_first = json_member<bool>(words, "add_prefix_space", name)};
  result.merges.reserve(merges.size());
  for (const json& merge : merges) result.merges.push_back(read_merge(merge, name));
  result.special = add_tokens(file, vocabulary, name);
  result.pieces = pieces_by_id(vocabulary, name);
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
  return tokenizer_json_text(std::move(added), {{"normalizer", nullptr},
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
                                                  {"merges", merges}}}});
}

}  // namespace attend
