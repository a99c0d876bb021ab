#include "data/text/tokenizer.hpp"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "data/text/lines.hpp"
#include "data/text/sentencepiece_check.hpp"

namespace attend {
namespace {

constexpr std::size_t kMaxModelBytes = std::size_t{256} << 20;

// With a sound model the library takes any text and any ids of its own.
void check(const sentencepiece::util::Status& status) {
  if (!status.ok()) {
    throw UserError("the tokenizer's model contradicts itself: " + std::string(status.error_message()),
                    "make it again with attend vocab");
  }
}

}  // namespace

struct Tokenizer::Model {
  sentencepiece::SentencePieceProcessor processor;
  std::string bytes;
  std::string hash;
  SpecialIds special;

  // The first of `names` that is a control piece.
  std::int32_t control_id(std::initializer_list<std::string_view> names) const {
    for (const auto name : names) {
      const int id = processor.PieceToId(name);
      if (processor.IsControl(id)) return id;
    }
    return -1;
  }
};

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  return from_bytes(read_file(path, kMaxModelBytes), path.string());
}

Tokenizer Tokenizer::from_bytes(std::string bytes, const std::string& name) {
  check_sentencepiece_model(bytes, name);
  auto model = std::make_shared<Model>();
  model->bytes = std::move(bytes);
  model->hash = hash_hex(std::as_bytes(std::span(model->bytes)));
  auto& processor = model->processor;
  if (const auto status = processor.LoadFromSerializedProto(model->bytes); !status.ok()) {
    throw UserError(name + ": not a usable tokenizer: " + std::string(status.error_message()),
                    "check that it is the right file, or make it again with attend vocab");
  }
  model->special = {.pad = processor.pad_id(),
                    .unk = processor.unk_id(),
                    .bos = processor.bos_id(),
                    .eos = processor.eos_id(),
                    .cls = model->control_id({"<cls>", "[CLS]"}),
                    .sep = model->control_id({"<sep>", "[SEP]"}),
                    .mask = model->control_id({"<mask>", "[MASK]"})};
  return Tokenizer(std::move(model));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int> ids;
  const auto status = model_->processor.Encode(text, &ids);
  check(status);
  return ids;
}

std::vector<Piece> Tokenizer::encode_pieces(std::string_view text) const {
  sentencepiece::ImmutableSentencePieceText encoded;
  const auto status = model_->processor.Encode(text, encoded.mutable_proto());
  check(status);
  std::vector<Piece> pieces;
  pieces.reserve(encoded.pieces_size());
  for (const auto& piece : encoded.pieces()) {
    pieces.push_back({static_cast<std::int32_t>(piece.id()), piece.piece(), piece.begin(), piece.end()});
  }
  return pieces;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  for (const auto id : ids) {
    if (id < 0 || id >= size())
      throw std::out_of_range("token id " + std::to_string(id) + " of " + std::to_string(size()));
  }
  std::string text;
  const auto status = model_->processor.Decode(std::vector<int>(ids.begin(), ids.end()), &text);
  check(status);
  return as_one_line(text);
}

std::int32_t Tokenizer::size() const { return model_->processor.GetPieceSize(); }
const SpecialIds& Tokenizer::special() const { return model_->special; }

const std::string& Tokenizer::piece(std::int32_t id) const {
  if (id < 0 || id >= size())
    throw std::out_of_range("token id " + std::to_string(id) + " of " + std::to_string(size()));
  return model_->processor.IdToPiece(id);
}

std::int32_t Tokenizer::id_of(std::string_view piece) const { return model_->processor.PieceToId(piece); }

const std::string& Tokenizer::bytes() const { return model_->bytes; }
const std::string& Tokenizer::hash() const { return model_->hash; }

}  // namespace attend
