// tokenizer.json: the parts that every reader needs, and its export.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// The parts common to every tokenizer.json: its vocabulary, its special tokens, and the templates of the texts that a
// model reads. Readers throw UserError naming the file `name` and the expectation.

// The remedy for a tokenizer with features that attend lacks.
inline constexpr const char* kOtherTokenizer =
    "attend reads tokenizers of BERT and of GPT-2; use the model's vocab.txt, or vocab.json and merges.txt, instead";

// The remedy for a damaged file.
inline constexpr const char* kOtherCopy = "use another copy";

// True if the bytes of a tokenizer's file are a tokenizer.json rather than a SentencePiece model, whose protocol
// buffers cannot start with a brace: they have no field of that number and type.
inline bool is_tokenizer_json(std::string_view bytes) { return bytes.starts_with('{'); }

// The member `key` of an object, which must be an object of the given type.
const nlohmann::json& typed_member(const nlohmann::json& object, const char* key, const char* type,
                                   const std::string& name);
// Throws unless the member is one of `allowed`, of which null includes a missing member.
void check_member(const nlohmann::json& object, const char* key, std::initializer_list<nlohmann::json> allowed,
                  const std::string& name);
// A flag; `otherwise` if it is missing or null.
bool flag_of(const nlohmann::json& object, const char* key, bool otherwise, const std::string& name);

// The "vocab" of a model, an object.
const nlohmann::json& vocabulary_of(const nlohmann::json& model, const std::string& name);
// The pieces of an object of pieces and their ids, in the order of the ids. It must have each id, from 0, exactly once.
std::vector<std::string> pieces_by_id(const nlohmann::json& vocabulary, const std::string& name);

struct SpecialToken {
  std::int32_t id = 0;
  std::string piece;
};

// Passes each of a file's "added_tokens", if there are any, and its JSON to `take`.
void for_added_tokens(const nlohmann::json& file, const std::string& name,
                      const std::function<void(const SpecialToken& token, const nlohmann::json& entry)>& take);

// The text of a tokenizer.json with these special tokens and the parts in which tokenizers differ. Equal ones give
// equal bytes.
std::string tokenizer_json_text(std::vector<SpecialToken> special, nlohmann::json parts);
// [CLS] A [SEP] B [SEP].
nlohmann::json template_json(const SpecialToken& cls, const SpecialToken& sep);
// </s> A, and </s> A B.
nlohmann::json template_json(const SpecialToken& end);

// Exports a tokenizer for Hugging Face's `tokenizers` and `transformers`.
//
// Loaded there, it should give the same normalisation, pieces and ids, and decode them to the same text unless one is
// unknown. The two libraries differ in:
//  - The text of a special piece, "<mask>", becomes that piece there, unless told to split special tokens.
//  - word: adjacent unknown words are one unknown piece here, and one each there.
//  - There, a normalisation table applies to single characters of a text that is composed (NFC) before and after. Here
//    the longest rule wins, so two or more marks on a letter that have no precomposed form may stay as written.
//    U+FFF0, an unassigned code point, vanishes there.
//  - unigram: scores are 32-bit numbers here and 64-bit there, so segmentations that agree to seven digits may be
//    ranked differently.
//  - bpe: if two overlapping merges give the same piece (in "ababa" the piece "aba"), the left one wins here, and the
//    one with the earlier parts there.
//  - "<0x41>", if one of its characters is unknown to a model with byte pieces.
//  - Invalid UTF-8 cannot be passed there.

// What a model reads: an encoder [CLS] A [SEP] B [SEP] if the vocabulary has these pieces, a language model </s> A.
enum class TextsFor { encoder, language_model };

// The content of tokenizer.json; that of a byte-level BPE is its own file, whatever `use`. Throws UserError for
// features that attend vocab never produces: user-defined and unused pieces, word-final spaces, word models with byte
// pieces, normalisation beyond character replacement and composition.
std::string to_tokenizer_json(const Tokenizer& tokenizer, TextsFor use = TextsFor::encoder);

// The content of tokenizer_config.json, which `transformers` also needs; `max_length` in pieces.
std::string to_tokenizer_config_json(const Tokenizer& tokenizer, std::int64_t max_length,
                                     TextsFor use = TextsFor::encoder);

}  // namespace attend
