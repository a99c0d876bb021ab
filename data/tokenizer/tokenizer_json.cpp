#include "data/tokenizer/tokenizer_json.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/tokenizer/byte_level_bpe.hpp"
#include "data/tokenizer/sentencepiece_model.hpp"
#include "data/tokenizer/wordpiece.hpp"

namespace attend {
namespace {

using nlohmann::json;

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

namespace {

using Entry = SentencePieceContent::Entry;

// Inserted between characters, because `tokenizers` groups a letter with its marks and then looks up the first
// character only. Unassigned, so text hardly contains it.
constexpr const char* kSeparator = "\uFFF0";
constexpr const char* kBetweenCharacters = R"((?<=[^\x00-\x7F])(?=.)|(?<=.)(?=[^\x00-\x7F])|(?<=\r)(?=\n))";
// A table is accepted if at most one in this many rules does not follow from those for single characters.
constexpr std::size_t kRulesPerException = 100;
// Score of pieces that a text never becomes: lower than that of any other segmentation.
constexpr double kNeverTaken = -1e6;

[[noreturn]] void refuse(const std::string& what) {
  throw UserError("this tokenizer cannot be written as tokenizer.json: " + what,
                  "use a tokenizer made by attend vocab; any of those can be");
}

json replace(const char* what, const std::string& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{what, pattern}}}, {"content", content}};
}

// The steps of SentencePiece's normaliser, in its order.
json normaliser_of(const SentencePieceContent& model) {
  json steps = json::array();
  if (!model.normalisation_table.empty()) {
    const auto rules = normalisation_rules(model.normalisation_table);
    if (num_rules_beyond_nfc(rules) * kRulesPerException > rules.size()) {
      refuse("its normalisation does more than replace and compose characters");
    }
    steps.push_back({{"type", "NFC"}});
    steps.push_back(replace("Regex", kBetweenCharacters, kSeparator));
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", base64(model.normalisation_table)}});
    steps.push_back(replace("String", kSeparator, ""));
    steps.push_back({{"type", "NFC"}});
  }
  const std::string space(model.escape_whitespaces ? kSpaceMark : " ");
  if (model.remove_extra_whitespaces) {
    steps.push_back(replace("Regex", R"(\A +)", ""));
    steps.push_back(replace("Regex", " {2,}", " "));
  }
  if (model.add_dummy_prefix) steps.push_back({{"type", "Prepend"}, {"prepend", space}});
  if (model.escape_whitespaces) steps.push_back(replace("String", " ", space));
  if (model.remove_extra_whitespaces) steps.push_back(replace("Regex", space + R"(+\z)", ""));
  return {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
}

json decoder_of(const SentencePieceContent& model) {
  json steps = json::array({replace("String", std::string(kSpaceMark), " ")});
  if (model.byte_fallback) steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
  if (model.add_dummy_prefix || model.remove_extra_whitespaces) {
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  return {{"type", "Sequence"}, {"decoders", std::move(steps)}};
}

json ids_of(const std::vector<Entry>& pieces) {
  json ids = json::object();
  for (std::size_t id = 0; id < pieces.size(); ++id) ids[std::string(pieces[id].text)] = id;
  return ids;
}

// Every merge of two pieces into a third, best first.
json merges_of(const std::vector<Entry>& pieces) {
  std::unordered_map<std::string_view, const Entry*> normal;
  for (const Entry& piece : pieces) {
    if (piece.type == PieceType::normal) normal.emplace(piece.text, &piece);
  }
  struct Merge {
    std::string_view left, right;
    float score;
  };
  std::vector<Merge> merges;
  for (const Entry& piece : pieces) {
    if (piece.type != PieceType::normal) continue;
    for (std::size_t at = utf8_length_at(piece.text, 0); at < piece.text.size(); at += utf8_length_at(piece.text, at)) {
      const auto left = piece.text.substr(0, at), right = piece.text.substr(at);
      if (normal.contains(left) && normal.contains(right)) merges.push_back({left, right, piece.score});
    }
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) { return a.score > b.score; });
  json result = json::array();
  for (const Merge& merge : merges) result.push_back({std::string(merge.left), std::string(merge.right)});
  return result;
}

json unigram_of(const SentencePieceContent& model, std::int32_t unk) {
  json vocabulary = json::array();
  for (const Entry& piece : model.pieces) {
    const double score = piece.type == PieceType::normal ? static_cast<double>(piece.score) : kNeverTaken;
    vocabulary.push_back(json::array({std::string(piece.text), score}));
  }
  return {
      {"type", "Unigram"}, {"unk_id", unk}, {"byte_fallback", model.byte_fallback}, {"vocab", std::move(vocabulary)}};
}

// Without merges, a character model.
json bpe_of(const SentencePieceContent& model, const std::string& unk) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", unk},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", true},
          {"byte_fallback", model.byte_fallback},
          {"ignore_merges", false},
          {"vocab", ids_of(model.pieces)},
          {"merges", model.kind == TokenizerType::bpe ? merges_of(model.pieces) : json::array()}};
}

json model_of(const SentencePieceContent& model, const Tokenizer& tokenizer) {
  const std::int32_t unk = tokenizer.special().unk;
  if (model.kind == TokenizerType::unigram) return unigram_of(model, unk);
  if (model.kind != TokenizerType::word) return bpe_of(model, tokenizer.piece(unk));
  return {{"type", "WordLevel"}, {"unk_token", tokenizer.piece(unk)}, {"vocab", ids_of(model.pieces)}};
}

// Only the word model pre-splits at spaces: pieces of the other models never extend past a space anyway.
json pre_tokenizer_of(const SentencePieceContent& model) {
  if (model.kind != TokenizerType::word) return nullptr;
  return {{"type", "Split"}, {"pattern", {{"String", kSpaceMark}}}, {"behavior", "MergedWithNext"}, {"invert", false}};
}

void check(const SentencePieceContent& model) {
  for (const Entry& piece : model.pieces) {
    const std::string text = "\"" + std::string(piece.text) + "\"";
    if (piece.type == PieceType::user_defined) refuse("the user-defined piece " + text);
    if (piece.type == PieceType::unused) refuse("the unused piece " + text);
  }
  if (model.space_is_suffix) refuse("its words end with a space instead of starting with one");
  if (model.kind == TokenizerType::word && (model.byte_fallback || !model.escape_whitespaces)) {
    refuse("a word model with byte pieces, or with plain spaces");
  }
}

std::array<std::pair<const char*, std::int32_t>, 7> named_ids(const SpecialIds& ids) {
  return {{{"pad_token", ids.pad},
           {"unk_token", ids.unk},
           {"bos_token", ids.bos},
           {"eos_token", ids.eos},
           {"cls_token", ids.cls},
           {"sep_token", ids.sep},
           {"mask_token", ids.mask}}};
}

}  // namespace

std::string to_tokenizer_json(const Tokenizer& tokenizer, TextsFor use) {
  if (is_tokenizer_json(tokenizer.bytes())) {
    const json file = parse_json(tokenizer.bytes(), "tokenizer");
    return is_bpe_json(file) ? tokenizer.bytes() : to_wordpiece_json(read_wordpiece_json(file, "tokenizer"));
  }
  const SentencePieceContent model = read_sentencepiece_content(tokenizer.bytes());
  check(model);
  const SpecialIds ids = tokenizer.special();
  const auto token = [&](std::int32_t id) { return SpecialToken{.id = id, .piece = tokenizer.piece(id)}; };
  std::vector<SpecialToken> added;
  for (const auto& [name, id] : named_ids(ids)) {
    if (id >= 0) added.push_back(token(id));
  }
  const auto post_processor = [&]() -> json {
    if (use == TextsFor::language_model) return template_json(token(ids.eos));
    return ids.cls >= 0 && ids.sep >= 0 ? template_json(token(ids.cls), token(ids.sep)) : json();
  };
  return tokenizer_json_text(std::move(added), {{"normalizer", normaliser_of(model)},
                                                {"pre_tokenizer", pre_tokenizer_of(model)},
                                                {"post_processor", post_processor()},
                                                {"decoder", decoder_of(model)},
                                                {"model", model_of(model, tokenizer)}});
}

std::string to_tokenizer_config_json(const Tokenizer& tokenizer, std::int64_t max_length, TextsFor use) {
  json inputs = {"input_ids", "attention_mask"};
  if (use == TextsFor::encoder) inputs.push_back("token_type_ids");  // a pair has two segments
  json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},     // any other class would build its own tokenizer
                 {"model_max_length", max_length},
                 {"clean_up_tokenization_spaces", false},
                 {"model_input_names", std::move(inputs)}};
  for (const auto& [name, id] : named_ids(tokenizer.special())) {
    if (id >= 0) config[name] = tokenizer.piece(id);
  }
  return config.dump(2) + "\n";
}

}  // namespace attend
