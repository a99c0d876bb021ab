#include "data/tokenizer/sentencepiece_model.hpp"

#include <sentencepiece_processor.h>

#include <initializer_list>

#include "core/error.hpp"
#include "core/protobuf.hpp"
#include "data/tokenizer/sentencepiece_check.hpp"

namespace attend {
namespace {

SentencePieceContent::Entry read_piece(std::string_view bytes) {
  SentencePieceContent::Entry piece;
  protobuf::Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number == 1) piece.text = field->content();
    if (field->number == 2) piece.score = field->number32();
    if (field->number == 3) piece.type = static_cast<PieceType>(field->varint());
  }
  return piece;
}

void read_trainer(std::string_view bytes, SentencePieceContent& content) {
  protobuf::Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number == 3) content.kind = static_cast<TokenizerType>(field->varint());
    if (field->number == 24) content.space_is_suffix = field->varint() != 0;
    if (field->number == 35) content.byte_fallback = field->varint() != 0;
  }
}

void read_normaliser(std::string_view bytes, SentencePieceContent& content) {
  protobuf::Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number == 2) content.normalisation_table = field->content();
    if (field->number == 3) content.add_dummy_prefix = field->varint() != 0;
    if (field->number == 4) content.remove_extra_whitespaces = field->varint() != 0;
    if (field->number == 5) content.escape_whitespaces = field->varint() != 0;
  }
}

}  // namespace

SentencePieceContent read_sentencepiece_content(std::string_view bytes) {
  SentencePieceContent content;
  protobuf::Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number == 1) content.pieces.push_back(read_piece(field->content()));
    if (field->number == 2) read_trainer(field->content(), content);
    if (field->number == 3) read_normaliser(field->content(), content);
  }
  return content;
}

namespace {

// With a valid model the library accepts any text and any of its own ids.
void check(const sentencepiece::util::Status& status) {
  if (!status.ok()) {
    throw UserError("the tokenizer's model is inconsistent: " + std::string(status.error_message()),
                    "train it again with attend vocab");
  }
}

class SentencePieceModel : public TokenizerModel {
 public:
  SentencePieceModel(const std::string& bytes, const std::string& name) {
    check_sentencepiece_model(bytes, name);
    if (const auto status = processor_.LoadFromSerializedProto(bytes); !status.ok()) {
      throw UserError(name + ": not a usable tokenizer: " + std::string(status.error_message()),
                      "check that it is the right file, or train a tokenizer with attend vocab");
    }
  }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<int> ids;
    const auto status = processor_.Encode(text, &ids);
    check(status);
    return ids;
  }

  std::vector<Piece> encode_pieces(std::string_view text) const override {
    sentencepiece::ImmutableSentencePieceText encoded;
    const auto status = processor_.Encode(text, encoded.mutable_proto());
    check(status);
    std::vector<Piece> pieces;
    pieces.reserve(encoded.pieces_size());
    for (const auto& piece : encoded.pieces()) {
      pieces.push_back({static_cast<std::int32_t>(piece.id()), piece.piece(), piece.begin(), piece.end()});
    }
    return pieces;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    const auto status = processor_.Decode(std::vector<int>(ids.begin(), ids.end()), &text);
    check(status);
    return text;
  }

  std::int32_t size() const override { return processor_.GetPieceSize(); }

  SpecialIds special() const override {
    return {.pad = processor_.pad_id(),
            .unk = processor_.unk_id(),
            .bos = processor_.bos_id(),
            .eos = processor_.eos_id(),
            .cls = control_id({"<cls>", "[CLS]"}),
            .sep = control_id({"<sep>", "[SEP]"}),
            .mask = control_id({"<mask>", "[MASK]"})};
  }

  const std::string& piece(std::int32_t id) const override { return processor_.IdToPiece(id); }

  bool begins_word(std::int32_t id) const override {
    return processor_.IsControl(id) || piece(id).starts_with(kSpaceMark);
  }

  std::int32_t id_of(std::string_view piece) const override { return processor_.PieceToId(piece); }

 private:
  // The first of `names` that is a control piece.
  std::int32_t control_id(std::initializer_list<std::string_view> names) const {
    for (const auto name : names) {
      const int id = processor_.PieceToId(name);
      if (processor_.IsControl(id)) return id;
    }
    return -1;
  }

  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<const TokenizerModel> make_sentencepiece_model(const std::string& bytes, const std::string& name) {
  return std::make_unique<SentencePieceModel>(bytes, name);
}

}  // namespace attend
