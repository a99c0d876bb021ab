// A tokenizer as Hugging Face's `tokenizers` and `transformers` load it.
//
// Loaded there it is to give the same normalisation, pieces and ids, and to decode what has no unknown pieces to the
// same text. Where the two libraries differ:
//  - The text of a special piece, "<mask>", becomes that piece there, unless told to split special tokens.
//  - word: neighbouring unknown words are one unknown piece here, and one each there.
//  - A normalisation table is applied there to single characters, of a text that is composed before and after (NFC).
//    Here the longest rule wins, so that of two or more marks on one letter, which no single character has, some stay
//    as they were written. U+FFF0, a code point that is no character, vanishes there.
//  - unigram: the best pieces are found in 32-bit numbers here and in 64-bit numbers there: of two ways to cut a text
//    that are equally good to seven digits, the other may be taken.
//  - bpe: where a piece has two ways to be put together that overlap in a text (of "ababa" "aba"), the left one is
//    taken here, and the one with the earlier parts there.
//  - "<0x41>", where one of its characters is unknown to a model with byte pieces.
//  - What is no UTF-8 cannot be asked there.
#pragma once

#include <cstdint>
#include <string>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// tokenizer.json. Two texts become [CLS] A [SEP] B [SEP] where the vocabulary has these. UserError for what only
// others' models have: user-defined and unused pieces, spaces as endings, word models with byte pieces, a normalisation
// that is no normalisation of characters and composition.
std::string to_tokenizer_json(const Tokenizer& tokenizer);

// tokenizer_config.json, which `transformers` wants beside it; `max_length` in pieces.
std::string to_tokenizer_config_json(const Tokenizer& tokenizer, std::int64_t max_length);

}  // namespace attend
