// The implementation behind a Tokenizer: a vocabulary and a segmentation algorithm. Ids passed in must be valid.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

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

}  // namespace attend
