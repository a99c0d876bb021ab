// The tokenizers in the Hugging Face directories of BERT, GPT-2 and MarianMT models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// The SentencePiece model that `attend export` adds to such a directory for `attend import`; transformers reads
// tokenizer.json instead.
inline constexpr const char* kSentencePieceFile = "sentencepiece.model";

// Reads DIRECTORY/sentencepiece.model, or else tokenizer.json, or else vocab.txt (one piece per line) with the
// do_lower_case, strip_accents and tokenize_chinese_chars of an optional tokenizer_config.json. Throws UserError naming
// the file as load_encoder_tokenizer does.
Tokenizer import_bert_tokenizer(const std::filesystem::path& directory);

// Reads DIRECTORY/sentencepiece.model, or else tokenizer.json, or else vocab.json and merges.txt (a merge per line)
// with the add_prefix_space of an optional tokenizer_config.json. Throws UserError naming the file as Tokenizer::load
// does.
Tokenizer import_gpt2_tokenizer(const std::filesystem::path& directory);

// The tokenizers in the Hugging Face directory of a MarianMT model. There, source.spm and target.spm only segment a
// text, and vocab.json has the ids of the pieces of both languages; or vocab.json has those of the source and
// target_vocab.json those of the target.
//
// attend import rewrites each SentencePiece model with the pieces of its vocabulary in the order of their ids, so that
// a run has ordinary tokenizers with the ids of vocab.json:
//
//   vocab.json {"</s>": 0, "<unk>": 1, "▁a": 2, "▁un": 3, "<pad>": 4},  source.spm <unk> <s> </s> ▁a b
//   src.model  </s> <unk> ▁a ▁un <pad> b
//
//  - A piece of the vocabulary that the model lacks ("▁un") takes no part in the segmentation.
//  - A piece of the model that the vocabulary lacks ("b") gets an id after the vocabulary. In Hugging Face, it has the
//    id of <unk>.
//  - A language code of the vocabulary (">>fra<<") is one piece at the beginning of a word; in Hugging Face, at the
//    beginning of the text.
//
// One difference remains: a character that the model of its language lacks is unknown here, even if vocab.json has it
// as a piece of the other language.

// File names in such a directory.
inline constexpr const char* kMarianSource = "source.spm";
inline constexpr const char* kMarianTarget = "target.spm";
inline constexpr const char* kMarianVocabulary = "vocab.json";
inline constexpr const char* kMarianTargetVocabulary = "target_vocab.json";

// Ids in the vocabulary of the target, from config.json.
struct MarianIds {
  std::int32_t eos = 0;
  std::int32_t pad = 0;
  std::int32_t start = 0;  // the decoder's first input
};

struct MarianTokenizers {
  TokenizerPair pair;  // bos of the target is the start
  // The sizes of the vocabularies; pieces with higher ids are unknown to Hugging Face.
  std::int32_t src_vocabulary = 0;
  std::int32_t tgt_vocabulary = 0;
};

// Throws UserError naming a file that is missing or not a tokenizer, or whose ids are not 0, 1, 2 and so on, and if the
// vocabulary lacks more pieces of a model than it has, or a special piece.
MarianTokenizers import_marian_tokenizers(const std::filesystem::path& directory, const MarianIds& ids);

// True if both sides have the same pieces in the same order.
bool have_same_vocabulary(const TokenizerPair& tokenizers);

// MarianMT's ids of a run's pieces. As in Marian's own models, padding has the last id and begins the translation: the
// piece that begins it in the run takes that place and name, and the run's padding, which no text has, is left out. A
// run whose padding begins the translation, such as an imported one, keeps its ids.
//
//   run  <pad> <unk> <s> </s> ▁a ▁un    tgt {1, 3, 4, 5, 2}: <unk> </s> ▁a ▁un <pad>    eos 1, pad and start 4
struct MarianOrder {
  std::vector<std::int64_t> src, tgt;  // the run's id for each of MarianMT's
  MarianIds ids;
};

// Writes these files for a run's tokenizers. Throws UserError if the sides name the end of a sentence or the unknown
// piece differently.
MarianOrder export_marian_tokenizers(const TokenizerPair& tokenizers, const std::filesystem::path& directory);

}  // namespace attend
