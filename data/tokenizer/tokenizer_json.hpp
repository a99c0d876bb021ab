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
#pragma once

#include <cstdint>
#include <string>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

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
