#include "data/tokenizer/sentencepiece_proto.hpp"

#include "core/protobuf.hpp"

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

}  // namespace attend
