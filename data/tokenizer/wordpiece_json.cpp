#include "data/tokenizer/wordpiece_json.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/json.hpp"
#include "data/tokenizer/json_parts.hpp"

namespace attend {
namespace {

using nlohmann::json;

// Added tokens are matched before anything else. Special ones may be ignored, since text never becomes them here.
void check_added_tokens(const json& file, const WordPiece& vocabulary, const std::string& name) {
  const SpecialIds ids = vocabulary.special();
  const std::array special{ids.pad, ids.unk, ids.cls, ids.sep, ids.mask};
  for_added_tokens(file, name, [&](const SpecialToken& token, const json& /*entry*/) {
    const bool is_special = std::ranges::find(special, token.id) != special.end();
    if (is_special && vocabulary.piece(token.id) == token.piece) return;
    throw UserError(name + ": the added token \"" + token.piece + "\", id " + std::to_string(token.id) +
                        ", expected only [PAD], [UNK], [CLS], [SEP] and [MASK]",
                    kOtherTokenizer);
  });
}

}  // namespace

WordPiece read_wordpiece_json(const json& file, const std::string& name) {
  if (!file.is_object()) throw UserError(name + ": not an object, expected a tokenizer.json", kOtherTokenizer);
  const json& model = typed_member(file, "model", "WordPiece", name);
  const json& normaliser = typed_member(file, "normalizer", "BertNormalizer", name);
  typed_member(file, "pre_tokenizer", "BertPreTokenizer", name);
  check_member(model, "unk_token", {"[UNK]"}, name);
  check_member(model, "continuing_subword_prefix", {"##"}, name);
  check_member(normaliser, "clean_text", {true}, name);
  const bool lower_case = json_member<bool>(normaliser, "lowercase", name);
  const WordPieceConfig config{.lower_case = lower_case,
                               .strip_accents = flag_of(normaliser, "strip_accents", lower_case, name),
                               .split_ideographs = json_member<bool>(normaliser, "handle_chinese_chars", name),
                               .longest_word = json_member<std::int64_t>(model, "max_input_chars_per_word", name)};
  if (config.longest_word < 0) {
    throw UserError(
        name + ": \"max_input_chars_per_word\" is " + std::to_string(config.longest_word) + ", expected 0 or more",
        "use another copy");
  }
  WordPiece result(pieces_by_id(vocabulary_of(model, name), name), config, name);
  check_added_tokens(file, result, name);
  return result;
}

std::string to_wordpiece_json(const WordPiece& vocabulary) {
  json ids = json::object();
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) ids[vocabulary.piece(id)] = id;
  const WordPieceConfig& config = vocabulary.config();
  const SpecialIds special = vocabulary.special();
  const auto token = [&](std::int32_t id) { return SpecialToken{.id = id, .piece = vocabulary.piece(id)}; };
  return tokenizer_json_text(
      {token(special.pad), token(special.unk), token(special.cls), token(special.sep), token(special.mask)},
      {{"normalizer",
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
         {"vocab", std::move(ids)}}}});
}

}  // namespace attend
