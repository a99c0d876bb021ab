// The implementations behind a Tokenizer: their interface, and what those with a list of pieces share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.hpp"
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

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    for (const Place& place : places_of(text)) ids.push_back(place.id);
    return ids;
  }
  std::vector<Piece> encode_pieces(std::string_view text) const override {
    std::vector<Piece> pieces;
    for (const Place& place : places_of(text)) pieces.push_back({place.id, piece(place.id), place.begin, place.end});
    return pieces;
  }

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

  explicit ListedPieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) { ids_.reserve(pieces_.size()); }
  ListedPieces(ListedPieces&&) = default;

  // Makes piece k known to find(). Throws UserError naming the vocabulary `name` if it is a duplicate.
  void add_to_index(std::size_t k, const std::string& name, const std::string& remedy) {
    const auto [other, is_new] = ids_.emplace(pieces_[k], static_cast<std::int32_t>(k));
    if (is_new) return;
    throw UserError(name + ": piece " + std::to_string(k) + ", \"" + pieces_[k] + "\", is piece " +
                        std::to_string(other->second) + " as well",
                    remedy);
  }
  // The id of a piece; `absent` if it is not in the list.
  std::int32_t find(std::string_view piece, std::int32_t absent = -1) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? absent : found->second;
  }

  virtual std::vector<Place> places_of(std::string_view text) const = 0;

 private:
  std::vector<std::string> pieces_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // views into pieces_
};

}  // namespace attend
