// The tokenizer: text to ids and back, with any kind of vocabulary.
//
// Holds a SentencePiece model (sentencepiece_model.hpp), BERT's WordPiece vocabulary (wordpiece.hpp) or GPT-2's
// byte-level BPE (byte_level_bpe.hpp), which defines the special ids. Text is never encoded to a special id other than
// unk: "</s>" or "[MASK]" in it are ordinary characters.
//
//   Tokenizer tokenizer = Tokenizer::load("m30k.model");
//   tokenizer.encode("A dog.")                  {57, 140, 6}
//   tokenizer.encode_pieces("A dog.")           {57 "▁A" 0-1} {140 "▁dog" 1-5} {6 "." 5-6}
//   tokenizer.decode({57, 140, 6})              "A dog."
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// Ids of the special pieces; -1 if the model lacks the piece.
struct SpecialIds {
  std::int32_t pad = -1;
  std::int32_t unk = -1;
  std::int32_t bos = -1;
  std::int32_t eos = -1;
  std::int32_t cls = -1;
  std::int32_t sep = -1;
  std::int32_t mask = -1;
};

// A piece of a text and its byte range [begin, end) in the text. Those of SentencePiece and of byte-level BPE cover the
// whole text; when a character is split into bytes, only the last has a width. WordPiece's ranges skip white space and
// removed characters, and a character that is normalised to several is in the range of each of their pieces.
struct Piece {
  std::int32_t id = 0;
  std::string text;  // as the vocabulary writes it; for an unknown SentencePiece piece, the original text
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A space in the pieces of SentencePiece.
inline constexpr std::string_view kSpaceMark = "\u2581";

// Larger tokenizer files are refused.
constexpr std::size_t kMaxTokenizerBytes = std::size_t{256} << 20;

// The bytes of a text that are read for its first `most` pieces: 256 per piece.
std::string_view beginning_of(std::string_view text, std::size_t most);

// The first pieces of a text, and whether there are more.
struct Beginning {
  std::vector<std::int32_t> ids;
  bool cut = false;
};

// A tokenizer is cheap to copy: copies share the model. All members are thread-safe.
class Tokenizer {
 public:
  // Detects the kind from the content. Throws UserError if it is none of them.
  static Tokenizer load(const std::filesystem::path& path);
  // `name` is used in messages.
  static Tokenizer from_bytes(std::string bytes, const std::string& name = "tokenizer");

  // The same tokenizer with all ids in the opposite order: those of a text from its last piece to its first, from which
  // decode() restores the text. Reversed twice it is the tokenizer itself.
  Tokenizer reversed() const;
  bool is_reversed() const { return is_reversed_; }

  // Ids without bos and eos. Any bytes are accepted; invalid UTF-8 counts as U+FFFD.
  std::vector<std::int32_t> encode(std::string_view text) const;
  std::vector<Piece> encode_pieces(std::string_view text) const;
  // A sentence as part of a document: with a space in front, unless it is the first or the tokenizer separates texts
  // itself.
  std::string in_document(std::string_view sentence, bool is_first) const;
  // At most the first `most` pieces of a text, read only as far as necessary.
  Beginning encode_beginning(std::string_view text, std::size_t most) const;

  // Always one line of text: line breaks and NUL spelt by bytes become spaces. Special ids are skipped; unk
  // becomes " ⁇ ", or "[UNK]" with WordPiece, which puts one space between words. std::out_of_range for an invalid id.
  std::string decode(std::span<const std::int32_t> ids) const;
  // The same text with its line breaks and NULs.
  std::string decode_lines(std::span<const std::int32_t> ids) const;

  std::int32_t size() const;
  const SpecialIds& special() const;
  // The piece as the vocabulary writes it, such as "▁dog", "##ing" or "Ġdog".
  const std::string& piece(std::int32_t id) const;
  // True if the piece starts a word.
  bool begins_word(std::int32_t id) const;
  // The id of a piece, or unk, which is -1 in a byte-level BPE.
  std::int32_t id_of(std::string_view piece) const;

  // The content of the file, and its XXH3; both are the same if reversed.
  const std::string& bytes() const;
  const std::string& hash() const;

 private:
  struct Content;
  explicit Tokenizer(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::int32_t checked(std::int32_t id) const;
  std::shared_ptr<const Content> content_;
  bool is_reversed_ = false;
};

// Loads a tokenizer as Tokenizer::load does; also throws UserError if [CLS], [SEP] or [MASK] is missing.
Tokenizer load_encoder_tokenizer(const std::filesystem::path& path);

// File name of a joint tokenizer in the tokenizer directory of a run.
inline constexpr const char* kJointTokenizer = "joint.model";

// The tokenizers of a translation run: one for both languages, or one per side. A directory stores them as joint.model,
// or as src.model and tgt.model.
struct TokenizerPair {
  Tokenizer src;
  Tokenizer tgt;  // shares src's model if joint

  // From one file or two. Throws UserError for another number, as Tokenizer::load does, and if bos or eos is missing.
  static TokenizerPair from_files(const std::vector<std::string>& files);
  static TokenizerPair load(const std::filesystem::path& directory);
  void save(const std::filesystem::path& directory) const;

  bool joint() const { return src.hash() == tgt.hash(); }
  bool operator==(const TokenizerPair& other) const {
    return src.hash() == other.src.hash() && tgt.hash() == other.tgt.hash();
  }
};

}  // namespace attend
