// BERT's own tokenization (Devlin et al. 2018, google-research/bert tokenization.py): characters are cleaned, lowered
// and freed of accents where the vocabulary is uncased; words are cut at white space, punctuation and around every CJK
// ideograph; and each word into the longest pieces of the vocabulary from its start, those inside of a word marked by
// ##.
//
//   "Émigrés, 東京"      emi ##gre ##s , 東 京
//
// Follows Hugging Face's fast tokenizer of BERT in ids and offsets, also where that differs from the original: a
// sigma that ends a word is lowered as any other, U+2B820 to U+2B91F are no ideographs, and categories are those that
// characters had in Unicode 8: what came later is neither punctuation, accent nor control. What is left: letters of a
// Unicode that ICU does not know yet are not lowered. A text never becomes [MASK] or another special piece, which
// Hugging Face's does unless told to split special tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/tokenizer/tokenizer_model.hpp"

namespace attend {

struct WordPieceConfig {
  bool lower_case = true;
  bool strip_accents = true;
  bool split_ideographs = true;
  std::int64_t longest_word = 100;  // characters; a longer word is unknown
};

class WordPiece : public TokenizerModel {
 public:
  // Piece k has id k. UserError, naming the vocabulary `name`, for pieces that are empty, no UTF-8 or there twice, and
  // when one of [PAD], [UNK], [CLS], [SEP] and [MASK] is missing.
  WordPiece(std::vector<std::string> pieces, const WordPieceConfig& config, const std::string& name);
  WordPiece(WordPiece&&) = default;
  WordPiece(const WordPiece&) = delete;

  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::vector<Piece> encode_pieces(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;

  std::int32_t size() const override { return static_cast<std::int32_t>(pieces_.size()); }
  SpecialIds special() const override { return special_; }
  const std::string& piece(std::int32_t id) const override { return pieces_[static_cast<std::size_t>(id)]; }
  bool begins_word(std::int32_t id) const override { return !piece(id).starts_with("##"); }
  std::int32_t id_of(std::string_view piece) const override;

  const std::vector<std::string>& pieces() const { return pieces_; }
  const WordPieceConfig& config() const { return config_; }

 private:
  // A piece of a text: its bytes there are [begin, end).
  struct Place {
    std::int32_t id;
    std::size_t begin, end;
  };
  // A character of a cleaned text, and the bytes of the original that it came from.
  struct Character {
    std::int32_t code_point;
    std::size_t begin, end;
  };
  std::vector<Character> clean(std::string_view text) const;
  std::vector<Character> without_accents(const std::vector<Character>& characters) const;
  std::vector<Character> lowered(const std::vector<Character>& characters) const;
  std::vector<Place> places_of(std::string_view text) const;
  void add_word(std::span<const Character> word, std::vector<Place>& places) const;
  std::int32_t special_id(const std::string& piece, const std::string& name) const;

  std::vector<std::string> pieces_;
  WordPieceConfig config_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // views into pieces_
  std::size_t longest_piece_ = 0;                           // bytes
  SpecialIds special_;
};

}  // namespace attend
