#include "data/tokenizer/tokenizer_model.hpp"

#include <utility>

#include "core/error.hpp"

namespace attend {

ListedPieces::ListedPieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {
  ids_.reserve(pieces_.size());
}

void ListedPieces::add_to_index(std::size_t k, const std::string& name, const std::string& remedy) {
  const auto [other, is_new] = ids_.emplace(pieces_[k], static_cast<std::int32_t>(k));
  if (is_new) return;
  throw UserError(name + ": piece " + std::to_string(k) + ", \"" + pieces_[k] + "\", is piece " +
                      std::to_string(other->second) + " as well",
                  remedy);
}

std::int32_t ListedPieces::find(std::string_view piece, std::int32_t absent) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? absent : found->second;
}

std::vector<std::int32_t> ListedPieces::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  for (const Place& place : places_of(text)) ids.push_back(place.id);
  return ids;
}

std::vector<Piece> ListedPieces::encode_pieces(std::string_view text) const {
  std::vector<Piece> pieces;
  for (const Place& place : places_of(text)) pieces.push_back({place.id, piece(place.id), place.begin, place.end});
  return pieces;
}

}  // namespace attend
