// GPT-2's tokenization and its file.
#pragma once

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/tokenizer/tokenizer_model.hpp"

namespace attend {

// GPT-2's tokenization (Radford et al. 2019, section 2.2): a text is split into words, and the bytes of each are merged
// into pieces by byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909). A word is the next match of
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// In pieces, each byte is a printable character: itself if it is one in Latin-1, or else one from U+0100 on, so that a
// space is "Ġ" and a line break "Ċ".
//
//   "The farmer's café"      The Ġfarmer 's Ġcaf Ã©
//
// No text is unknown, and decoding the ids of a text restores it. Gives the ids of Hugging Face's `tokenizers`, except
// for letters and digits newer than ICU's Unicode version; and a text never becomes a special piece, which Hugging Face
// allows unless told to split special tokens.

// Ends each text, and precedes the first one.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

struct ByteLevelBpeFile {
  std::vector<std::string> pieces;  // piece k has id k
  // The pairs of pieces that become one, the first merged first.
  std::vector<std::pair<std::string, std::string>> merges = {};
  std::vector<std::int32_t> special = {};  // ids that text never becomes; that of kEndOfText need not be listed
  bool space_first = false;                // read "dog" as " dog"
};

class ByteLevelBpe : public ListedPieces {
 public:
  // Throws UserError naming the file `name` for an empty or duplicate piece, or one with a character that stands for no
  // byte, for a byte without a piece, and for a duplicate merge or one whose parts or result are missing or special
  // pieces.
  ByteLevelBpe(ByteLevelBpeFile file, const std::string& name);

  // Each incomplete character and each other byte that is not UTF-8 becomes U+FFFD.
  std::string decode(std::span<const std::int32_t> ids) const override;

  // kEndOfText is eos and bos; -1 if there is none. Other special pieces have no role.
  SpecialIds special() const override { return {.bos = end_of_text_, .eos = end_of_text_}; }
  // True for pieces that start with white space, and for special ones.
  bool begins_word(std::int32_t id) const override;
  std::int32_t id_of(std::string_view piece) const override { return find(piece); }
  bool separates_texts() const override { return space_first_; }

 private:
  struct Merge {
    std::size_t rank;
    std::int32_t result;
  };
  void add_pieces(const std::vector<std::int32_t>& special, const std::string& name);
  void add_merges(const std::vector<std::pair<std::string, std::string>>& merges, const std::string& name);
  std::vector<Character> characters_of(std::string_view text) const;
  bool is_special_piece(std::int32_t id) const { return bytes_[id].empty(); }
  std::vector<Place> places_of(std::string_view text) const override;
  void add_word(std::span<const Character> word, std::vector<Place>& places) const;

  std::vector<std::string> bytes_;                   // of each piece; empty if it is special
  std::unordered_map<std::uint64_t, Merge> merges_;  // by the ids of both parts
  std::array<std::int32_t, 256> byte_ids_ = {};
  std::int32_t end_of_text_ = -1;
  bool space_first_ = false;
};

// The file of a byte-level BPE: tokenizer.json as Hugging Face's `tokenizers` writes it for GPT-2. Features that
// GPT-2's lacks are refused by name; truncation, padding, post_processor and decoder are ignored, since they do not
// affect the pieces of a text.

// True if the file has a model with merges.
bool is_bpe_json(const nlohmann::json& file);

// `file` must satisfy is_bpe_json(). Throws UserError naming the file `name` and the expectation.
ByteLevelBpe read_byte_level_bpe_json(const nlohmann::json& file, const std::string& name);

// The content of tokenizer.json for GPT-2's older files: the object of vocab.json, the array of the lines of
// merges.txt, and add_prefix_space of tokenizer_config.json.
std::string to_byte_level_bpe_json(const nlohmann::json& vocabulary, const nlohmann::json& merges, bool space_first);

}  // namespace attend
