// The implementations behind a Tokenizer: their interface, and what those with a list of pieces share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// The implementation behind a Tokenizer: a vocabulary and a segmentation algorithm. Ids passed in must be valid.
class TokenizerModel {
 public:
  virtual ~TokenizerModel() = default;

  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  virtual std::vector<Piece> encode_pieces(std::string_view text) const = 0;
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;

  virtual std::int32_t size() const = 0;
  virtual SpecialIds special() const = 0;
  virtual const std::string& piece(std::int32_t id) const = 0;
  virtual bool begins_word(std::int32_t id) const = 0;
  virtual std::int32_t id_of(std::string_view piece) const = 0;
  // True if a text is read as if white space preceded it, so that texts encoded one by one are separate words.
  virtual bool separates_texts() const { return true; }
};

// A tokenizer with a list of pieces, piece k of id k, each of which stands for characters of the text: what WordPiece
// and byte-level BPE have in common.
class ListedPieces : public TokenizerModel {
 public:
  ListedPieces(const ListedPieces&) = delete;

  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::vector<Piece> encode_pieces(std::string_view text) const override;

  std::int32_t size() const override { return static_cast<std::int32_t>(pieces_.size()); }
  const std::string& piece(std::int32_t id) const override { return pieces_[id]; }
  const std::vector<std::string>& pieces() const { return pieces_; }

 protected:
  // A piece and its byte range [begin, end) in the text.
  struct Place {
    std::int32_t id;
    std::size_t begin, end;
  };
  // A character as it is read and its byte range in the text.
  struct Character {
    std::int32_t code_point;
    std::size_t begin, end;
  };

  explicit ListedPieces(std::vector<std::string> pieces);
  ListedPieces(ListedPieces&&) = default;

  // Makes piece k known to find(). Throws UserError naming the vocabulary `name` if it is a duplicate.
  void add_to_index(std::size_t k, const std::string& name, const std::string& remedy);
  // The id of a piece; `absent` if it is not in the list.
  std::int32_t find(std::string_view piece, std::int32_t absent = -1) const;

  virtual std::vector<Place> places_of(std::string_view text) const = 0;

 private:
  std::vector<std::string> pieces_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // views into pieces_
};

}  // namespace attend
