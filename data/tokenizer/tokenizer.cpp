#include "data/tokenizer/tokenizer.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/byte_level_bpe.hpp"
#include "data/tokenizer/sentencepiece_model.hpp"
#include "data/tokenizer/tokenizer_json.hpp"
#include "data/tokenizer/tokenizer_model.hpp"
#include "data/tokenizer/wordpiece.hpp"

namespace attend {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSrcTokenizer = "src.model";
constexpr const char* kTgtTokenizer = "tgt.model";

std::unique_ptr<const TokenizerModel> make_model(const std::string& bytes, const std::string& name) {
  if (!is_tokenizer_json(bytes)) return make_sentencepiece_model(bytes, name);
  const nlohmann::json file = parse_json(bytes, name);
  if (is_bpe_json(file)) return std::make_unique<ByteLevelBpe>(read_byte_level_bpe_json(file, name));
  return std::make_unique<WordPiece>(read_wordpiece_json(file, name));
}

}  // namespace

struct Tokenizer::Content {
  std::string bytes;
  std::string hash;
  std::unique_ptr<const TokenizerModel> model;
  SpecialIds special;
};

Tokenizer Tokenizer::load(const fs::path& path) {
  return from_bytes(read_file(path, kMaxTokenizerBytes), path.string());
}

Tokenizer Tokenizer::from_bytes(std::string bytes, const std::string& name) {
  auto content = std::make_shared<Content>();
  content->model = make_model(bytes, name);
  content->special = content->model->special();
  content->bytes = std::move(bytes);
  content->hash = hash_hex(std::as_bytes(std::span(content->bytes)));
  return Tokenizer(std::move(content));
}

std::int32_t Tokenizer::checked(std::int32_t id) const {
  if (id >= 0 && id < size()) return id;
  throw std::out_of_range("token id " + std::to_string(id) + " of " + std::to_string(size()));
}

Tokenizer Tokenizer::reversed() const {
  Tokenizer other = *this;
  other.is_reversed_ = !is_reversed_;
  return other;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids = content_->model->encode(text);
  if (is_reversed_) std::ranges::reverse(ids);
  return ids;
}

std::vector<Piece> Tokenizer::encode_pieces(std::string_view text) const {
  std::vector<Piece> pieces = content_->model->encode_pieces(text);
  if (is_reversed_) std::ranges::reverse(pieces);
  return pieces;
}

std::string_view beginning_of(std::string_view text, std::size_t most) {
  constexpr std::size_t kBytes = 256;  // per piece; text has about four
  std::size_t end = std::min(text.size(), std::max<std::size_t>(most, 1) * kBytes);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80 && end > 0) --end;
  return text.substr(0, end);
}

std::string Tokenizer::in_document(std::string_view sentence, bool is_first) const {
  return (is_first || content_->model->separates_texts() ? "" : " ") + std::string(sentence);
}

Beginning Tokenizer::encode_beginning(std::string_view text, std::size_t most) const {
  const std::string_view read = beginning_of(text, most);
  Beginning beginning{.ids = content_->model->encode(read), .cut = read.size() < text.size()};
  if (beginning.ids.size() > most) {
    beginning.ids.resize(most);
    beginning.cut = true;
  }
  if (is_reversed_) std::ranges::reverse(beginning.ids);
  return beginning;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const { return as_one_line(decode_lines(ids)); }

std::string Tokenizer::decode_lines(std::span<const std::int32_t> ids) const {
  for (const auto id : ids) checked(id);
  if (!is_reversed_) return content_->model->decode(ids);
  return content_->model->decode(std::vector<std::int32_t>(ids.rbegin(), ids.rend()));
}

std::int32_t Tokenizer::size() const { return content_->model->size(); }
const SpecialIds& Tokenizer::special() const { return content_->special; }

const std::string& Tokenizer::piece(std::int32_t id) const { return content_->model->piece(checked(id)); }
bool Tokenizer::begins_word(std::int32_t id) const { return content_->model->begins_word(checked(id)); }
std::int32_t Tokenizer::id_of(std::string_view piece) const { return content_->model->id_of(piece); }

const std::string& Tokenizer::bytes() const { return content_->bytes; }
const std::string& Tokenizer::hash() const { return content_->hash; }

Tokenizer load_encoder_tokenizer(const fs::path& path) {
  Tokenizer tokenizer = Tokenizer::load(path);
  const SpecialIds& ids = tokenizer.special();
  if (ids.cls >= 0 && ids.sep >= 0 && ids.mask >= 0) return tokenizer;
  throw UserError(path.string() + ": no pieces \"[CLS]\", \"[SEP]\" and \"[MASK]\", which encoders need",
                  "train a tokenizer with attend vocab, which adds all special pieces");
}

TokenizerPair TokenizerPair::from_files(const std::vector<std::string>& files) {
  if (files.empty() || files.size() > 2) {
    throw UserError("--tokenizer: " + std::to_string(files.size()) + " files",
                    "give one for both languages, or one each for source and target");
  }
  const Tokenizer src = Tokenizer::load(files.front());
  const Tokenizer tgt = files.size() == 1 ? src : Tokenizer::load(files.back());
  // Decoding starts from the target's bos; both sides end with eos.
  const bool tgt_complete = tgt.special().bos >= 0 && tgt.special().eos >= 0;
  if (src.special().eos < 0 || !tgt_complete) {
    throw UserError(
        (tgt_complete ? files.front() : files.back()) + ": a tokenizer without pieces for begin and end of sentence",
        "train one with attend vocab");
  }
  return {.src = src, .tgt = tgt};
}

TokenizerPair TokenizerPair::load(const fs::path& directory) {
  std::error_code unreadable;
  const bool joint = fs::exists(directory / kJointTokenizer, unreadable);
  return joint ? from_files({(directory / kJointTokenizer).string()})
               : from_files({(directory / kSrcTokenizer).string(), (directory / kTgtTokenizer).string()});
}

void TokenizerPair::save(const fs::path& directory) const {
  make_directories(directory);
  std::error_code missing;
  if (joint()) {
    write_file_atomic(directory / kJointTokenizer, src.bytes());
  } else {
    fs::remove(directory / kJointTokenizer, missing);  // load() would take it first
    write_file_atomic(directory / kSrcTokenizer, src.bytes());
    write_file_atomic(directory / kTgtTokenizer, tgt.bytes());
  }
}

}  // namespace attend
