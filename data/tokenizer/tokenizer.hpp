// Text to ids and back: one class for every job, for text of any kind and ids of any vocabulary.
//
// Holds a SentencePiece model (sentencepiece_model.hpp), or a WordPiece vocabulary as BERT's are (wordpiece.hpp). What
// the special ids are is read from either. A text is never encoded to a special id other than unk: "</s>" or "[MASK]"
// in it are characters like any others.
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

// Ids of the special pieces; -1 where the model has none.
struct SpecialIds {
  std::int32_t pad = -1;
  std::int32_t unk = -1;
  std::int32_t bos = -1;
  std::int32_t eos = -1;
  std::int32_t cls = -1;
  std::int32_t sep = -1;
  std::int32_t mask = -1;
};

// A piece of a text: its bytes there are [begin, end). Those of a SentencePiece model cover the text together; of the
// pieces that a character falls into, as bytes, only the last has a width. Those of WordPiece leave out white space and
// what is cleaned away, and a character that becomes several is within each of their pieces.
struct Piece {
  std::int32_t id = 0;
  std::string text;  // as the vocabulary writes it; where a SentencePiece model knows none, what stands there
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A file of a tokenizer that is larger is refused.
constexpr std::size_t kMaxTokenizerBytes = std::size_t{256} << 20;

// Cheap to copy: copies share the model. All members may be called from several threads at once.
class Tokenizer {
 public:
  // Which of the two it is, is told by the content. UserError when it is sound as neither.
  static Tokenizer load(const std::filesystem::path& path);
  // `name` is what messages call it.
  static Tokenizer from_bytes(std::string bytes, const std::string& name = "tokenizer");

  // Without bos and eos. Any bytes will do; those that are no UTF-8 count as U+FFFD.
  std::vector<std::int32_t> encode(std::string_view text) const;
  std::vector<Piece> encode_pieces(std::string_view text) const;

  // One line of text, always: line ends and NUL that byte pieces spell become spaces. Special ids give nothing, unk
  // gives " ⁇ ", or "[UNK]" of WordPiece, whose words have one space between them. std::out_of_range for an id that is
  // none.
  std::string decode(std::span<const std::int32_t> ids) const;

  std::int32_t size() const;
  const SpecialIds& special() const;
  // The piece as the vocabulary writes it, such as "▁dog" or "##ing".
  const std::string& piece(std::int32_t id) const;
  // Whether a word begins with it, rather than goes on.
  bool begins_word(std::int32_t id) const;
  // The id of a piece; unk where there is no such piece.
  std::int32_t id_of(std::string_view piece) const;

  // The content of the file, and its XXH3.
  const std::string& bytes() const;
  const std::string& hash() const;

 private:
  struct Content;
  explicit Tokenizer(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  void check_id(std::int32_t id) const;
  std::shared_ptr<const Content> content_;
};

// Tokenizer::load; UserError also without the pieces of an encoder's sequences: [CLS], [SEP] and [MASK].
Tokenizer load_encoder_tokenizer(const std::filesystem::path& path);

}  // namespace attend
