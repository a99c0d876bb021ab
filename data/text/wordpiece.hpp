// BERT's own tokenization (Devlin et al. 2018, google-research/bert tokenization.py), equal to Hugging Face's
// BertTokenizer: characters are cleaned, lowered and freed of accents where the vocabulary is uncased; words are cut at
// white space, punctuation and around every CJK ideograph; and each word into the longest pieces of the vocabulary from
// its start, those inside of a word marked by ##.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attend {

struct WordPieceConfig {
  bool lower_case = true;  // and without accents
  bool split_ideographs = true;
};

class WordPiece {
 public:
  static constexpr std::size_t kLongestWord = 100;  // characters; a longer word is unknown

  // Piece k has id k. UserError, naming the vocabulary `name`, for a piece that is there twice, or no [UNK].
  WordPiece(std::vector<std::string> pieces, const WordPieceConfig& config, const std::string& name);

  // A piece of a text: its bytes there are [begin, end).
  struct Place {
    std::int32_t id;
    std::size_t begin, end;
  };
  std::vector<Place> encode(std::string_view text) const;

  // Pieces joined by spaces, those with ## to what stands before.
  std::string decode(const std::vector<std::int32_t>& ids) const;

  const std::vector<std::string>& pieces() const { return pieces_; }
  const WordPieceConfig& config() const { return config_; }
  std::int32_t id_of(std::string_view piece) const;  // of [UNK] where there is no such piece

 private:
  // A character of a cleaned text, and the bytes of the original that it came from.
  struct Character {
    std::int32_t code_point;
    std::size_t begin, end;
  };
  std::vector<Character> clean(std::string_view text) const;
  void add_word(const Character* begin, const Character* end, std::vector<Place>& places) const;

  std::vector<std::string> pieces_;
  WordPieceConfig config_;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::int32_t unknown_ = 0;
};

}  // namespace attend
