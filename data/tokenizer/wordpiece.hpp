// BERT's tokenization and its file.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer_model.hpp"

namespace attend {

// BERT's tokenization (Devlin et al. 2018, google-research/bert tokenization.py): clean the text, lower-case it and
// strip accents if the vocabulary is uncased; split at white space, punctuation and around every CJK ideograph; then
// split each word by greedy longest match, marking pieces inside a word by ##.
//
//   "Émigrés, 東京"      emi ##gre ##s , 東 京
//
// Gives the ids and offsets of Hugging Face's fast BERT tokenizer, even where that differs from the original: a final
// sigma is lower-cased like any other, U+2B820 to U+2B91F are not ideographs, and character categories are those of
// Unicode 8 (later characters are neither punctuation, accents nor controls). Remaining differences: letters newer than
// ICU's Unicode version are not lower-cased; and a text never becomes [MASK] or another special piece, which Hugging
// Face allows unless told to split special tokens.

struct WordPieceConfig {
  bool lower_case = true;
  bool strip_accents = true;
  bool split_ideographs = true;
  std::int64_t longest_word = 100;  // characters; a longer word is unknown
};

class WordPiece : public ListedPieces {
 public:
  // Piece k has id k. Throws UserError naming the vocabulary `name` for an empty, invalid (not UTF-8) or duplicate
  // piece, and if [PAD], [UNK], [CLS], [SEP] or [MASK] is missing.
  WordPiece(std::vector<std::string> pieces, const WordPieceConfig& config, const std::string& name);

  std::string decode(std::span<const std::int32_t> ids) const override;

  SpecialIds special() const override { return special_; }
  bool begins_word(std::int32_t id) const override { return !piece(id).starts_with("##"); }
  std::int32_t id_of(std::string_view piece) const override { return find(piece, special_.unk); }

  const WordPieceConfig& config() const { return config_; }

 private:
  std::vector<Character> clean(std::string_view text) const;
  std::vector<Character> without_accents(const std::vector<Character>& characters) const;
  std::vector<Character> lowered(const std::vector<Character>& characters) const;
  std::vector<Place> places_of(std::string_view text) const override;
  void add_word(std::span<const Character> word, std::vector<Place>& places) const;
  std::int32_t special_id(const std::string& piece, const std::string& name) const;

  WordPieceConfig config_;
  std::size_t longest_piece_ = 0;  // bytes
  SpecialIds special_;
};

// The file of a WordPiece vocabulary: tokenizer.json as Hugging Face's `tokenizers` writes it for BERT. Unsupported
// features are refused by name; truncation, padding, post_processor and decoder are ignored, since they do not affect
// the pieces of a text. The output can be loaded by `tokenizers` (docs/formats.md).

// Throws UserError naming the file `name` and the expectation.
WordPiece read_wordpiece_json(const nlohmann::json& file, const std::string& name);

std::string to_wordpiece_json(const WordPiece& vocabulary);

}  // namespace attend
