#include "data/tokenizer/hugging_face_vocabulary.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/protobuf.hpp"
#include "core/text.hpp"
#include "data/tokenizer/byte_level_bpe.hpp"
#include "data/tokenizer/sentencepiece_model.hpp"
#include "data/tokenizer/tokenizer_json.hpp"
#include "data/tokenizer/wordpiece.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kTokenizerJson = "tokenizer.json";
constexpr const char* kTokenizerConfig = "tokenizer_config.json";

// Only \n, \r or \r\n ends a line, as in BERT's own reader.
std::vector<std::string> lines_of(const fs::path& path) {
  const std::string text = read_file(path, kMaxTokenizerBytes);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + (text.compare(end, 2, "\r\n") == 0 ? 2 : 1);
  }
  return lines;
}

json read_options(const fs::path& path) {
  if (!fs::exists(path)) return json::object();
  json options = read_json(path);
  if (options.is_object()) return options;
  throw UserError(path.string() + ": not a JSON object, expected options", kOtherCopy);
}

WordPiece read_wordpiece(const fs::path& directory) {
  const fs::path whole = directory / kTokenizerJson, pieces = directory / "vocab.txt";
  if (fs::exists(whole)) return read_wordpiece_json(read_json(whole, kMaxTokenizerBytes), whole.string());
  if (!fs::exists(pieces)) {
    throw UserError(directory.string() + ": neither tokenizer.json nor vocab.txt",
                    "name the directory of a BERT model that includes its tokenizer");
  }
  const fs::path config = directory / kTokenizerConfig;
  const json options = read_options(config);
  const auto flag = [&](const char* key, bool otherwise) { return flag_of(options, key, otherwise, config.string()); };
  const bool lower_case = flag("do_lower_case", true);
  return {lines_of(pieces),
          {.lower_case = lower_case,
           .strip_accents = flag("strip_accents", lower_case),
           .split_ideographs = flag("tokenize_chinese_chars", true)},
          pieces.string()};
}

using Pieces = std::vector<std::string>;  // in the order of their ids

constexpr const char* kMarianPadding = "<pad>";  // CTranslate2 finds it by this name
constexpr const char* kIncomplete = "use the complete directory of a MarianMT model";

struct SpecialPieces {
  std::string unk, eos, pad, start;
};

// A language code such as ">>fra<<".
bool is_code(std::string_view piece) { return piece.size() > 4 && piece.starts_with(">>") && piece.ends_with("<<"); }

// The piece as a SentencePiece model spells it: a code includes the space that every text begins with.
std::string text_in(const SentencePieceContent& model, const std::string& piece) {
  return is_code(piece) && model.add_dummy_prefix ? std::string(kSpaceMark) + piece : piece;
}

std::string read_part(const fs::path& directory, const char* file) {
  const fs::path path = directory / file;
  if (!fs::exists(path)) throw UserError(directory.string() + ": " + file + " is missing", kIncomplete);
  return read_file(path, kMaxTokenizerBytes);
}

Pieces read_vocabulary(const fs::path& directory, const char* file) {
  const std::string name = (directory / file).string();
  const json vocabulary = parse_json(read_part(directory, file), name);
  if (!vocabulary.is_object() || vocabulary.empty()) {
    throw UserError(name + ": not a JSON object of pieces and ids", kOtherCopy);
  }
  return pieces_by_id(vocabulary, name);
}

// The bytes of a valid SentencePiece model.
std::string read_model(const fs::path& directory, const char* file) {
  std::string bytes = read_part(directory, file);
  check_sentencepiece_model(bytes, (directory / file).string());
  return bytes;
}

// Appends the pieces of a model that a text may become and `pieces` lacks.
void add_missing(const std::string& model, Pieces& pieces, const std::string& name) {
  const SentencePieceContent content = read_sentencepiece_content(model);
  const std::size_t vocabulary = pieces.size();
  std::unordered_set<std::string> known;
  for (const std::string& piece : pieces) known.insert(text_in(content, piece));
  for (const SentencePieceContent::Entry& entry : content.pieces) {
    if (entry.type == PieceType::control || entry.type == PieceType::unknown) continue;
    if (known.emplace(entry.text).second) pieces.emplace_back(entry.text);
  }
  if (pieces.size() - vocabulary > vocabulary) {
    throw UserError(name + ": the vocabulary lacks " + std::to_string(pieces.size() - vocabulary) +
                        " of its pieces, but has only " + std::to_string(vocabulary),
                    "use the vocabulary and the tokenizers of the same model");
  }
}

PieceType type_in_run(const std::string& piece, const SentencePieceContent::Entry* entry, TokenizerType kind,
                      const SpecialPieces& special) {
  if (piece == special.unk) return PieceType::unknown;
  if (piece == special.eos || piece == special.pad || piece == special.start) return PieceType::control;
  if (is_code(piece)) return PieceType::user_defined;
  // Only unigram models skip unused pieces; the others would merge or find them.
  if (entry == nullptr) return kind == TokenizerType::unigram ? PieceType::unused : PieceType::control;
  return entry->type == PieceType::unknown ? PieceType::control : entry->type;
}

std::string message_of(const SentencePieceContent::Entry& piece) {
  std::string message;
  protobuf::append(message, {.number = 1, .wire = 2, .bytes = piece.text});
  protobuf::append(message, {.number = 2, .wire = 5, .value = std::bit_cast<std::uint32_t>(piece.score)});
  protobuf::append(message, {.number = 3, .wire = 0, .value = static_cast<std::uint64_t>(piece.type)});
  return message;
}

// Training options with other names of the special pieces.
std::string with_names(std::string_view options, const SpecialPieces& special) {
  std::string result;
  for (protobuf::Message message(options); const auto field = message.next();) {
    if (field->number < 45 || field->number > 48) protobuf::append(result, *field);
  }
  const std::array names{&special.unk, &special.start, &special.eos, &special.pad};  // fields 45 to 48
  for (std::uint32_t i = 0; i < names.size(); ++i)
    protobuf::append(result, {.number = 45 + i, .wire = 2, .bytes = *names[i]});
  return result;
}

// The model with the given pieces in place of its own, and its segmentation.
Tokenizer with_pieces(const std::string& model, const Pieces& pieces, const SpecialPieces& special,
                      const std::string& name) {
  const SentencePieceContent content = read_sentencepiece_content(model);
  std::unordered_map<std::string_view, const SentencePieceContent::Entry*> entries;
  for (const SentencePieceContent::Entry& entry : content.pieces) entries.emplace(entry.text, &entry);
  std::string result;
  for (const std::string& piece : pieces) {
    const std::string text = text_in(content, piece);
    const auto found = entries.find(text);
    const SentencePieceContent::Entry* entry = found == entries.end() ? nullptr : found->second;
    const std::string message = message_of({.text = text,
                                            .score = entry == nullptr ? 0 : entry->score,
                                            .type = type_in_run(piece, entry, content.kind, special)});
    protobuf::append(result, {.number = 1, .wire = 2, .bytes = message});
  }
  for (protobuf::Message message(model); const auto field = message.next();) {
    if (field->number == 2) {
      protobuf::append(result, {.number = 2, .wire = 2, .bytes = with_names(field->content(), special)});
    }
    if (field->number == 3 || field->number == 5) protobuf::append(result, *field);  // its normalisation
  }
  return Tokenizer::from_bytes(std::move(result), name);
}

std::string unknown_piece(const fs::path& directory) {
  const fs::path file = directory / kTokenizerConfig;
  const json config = fs::exists(file) ? read_json(file) : json::object();
  const auto found = config.find("unk_token");
  return found != config.end() && found->is_string() ? found->get<std::string>() : "<unk>";
}

// True if the run's padding begins its translations, as MarianMT's does; a source may lack both.
bool has_marian_start(const SpecialIds& special) { return special.bos < 0 || special.bos == special.pad; }

std::vector<std::int64_t> marian_order(const Tokenizer& tokenizer) {
  const SpecialIds& special = tokenizer.special();
  const bool keeps = has_marian_start(special);
  std::vector<std::int64_t> order;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    if (keeps || (id != special.bos && id != special.pad)) order.push_back(id);
  }
  if (!keeps) order.push_back(special.bos);
  return order;
}

// Hugging Face's name of a run's piece.
std::string name_in_vocabulary(const Tokenizer& tokenizer, std::int32_t id) {
  const SpecialIds& special = tokenizer.special();
  if (id == special.bos && !has_marian_start(special)) {
    const std::int32_t other = tokenizer.id_of(kMarianPadding);
    if (other == special.unk || other == special.pad) return kMarianPadding;
  }
  const std::string& piece = tokenizer.piece(id);
  if (!piece.starts_with(kSpaceMark) || !is_code(std::string_view(piece).substr(kSpaceMark.size()))) return piece;
  const std::string code = piece.substr(kSpaceMark.size());
  return tokenizer.id_of(code) == tokenizer.special().unk ? code : piece;
}

std::string vocabulary_json(const Tokenizer& tokenizer, const std::vector<std::int64_t>& order) {
  json ids = json::object();
  for (std::size_t i = 0; i < order.size(); ++i) {
    ids[name_in_vocabulary(tokenizer, static_cast<std::int32_t>(order[i]))] = i;
  }
  return ids.dump() + "\n";
}

}  // namespace

Tokenizer import_bert_tokenizer(const fs::path& directory) {
  if (fs::exists(directory / kSentencePieceFile)) return load_encoder_tokenizer(directory / kSentencePieceFile);
  return Tokenizer::from_bytes(to_wordpiece_json(read_wordpiece(directory)), directory.string());
}

Tokenizer import_gpt2_tokenizer(const fs::path& directory) {
  for (const char* whole : {kSentencePieceFile, kTokenizerJson}) {
    if (fs::exists(directory / whole)) return Tokenizer::load(directory / whole);
  }
  const fs::path vocabulary = directory / "vocab.json", merges = directory / "merges.txt";
  if (!fs::exists(vocabulary) || !fs::exists(merges)) {
    throw UserError(directory.string() + ": neither tokenizer.json nor vocab.json with merges.txt",
                    "name the directory of a GPT-2 model that includes its tokenizer");
  }
  const json ids = read_json(vocabulary, kMaxTokenizerBytes);
  if (!ids.is_object()) {
    throw UserError(vocabulary.string() + ": not an object, expected pieces with their ids", kOtherCopy);
  }
  std::vector<std::string> lines = lines_of(merges);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!is_utf8(lines[i])) throw UserError(fmt::format("{}:{}: not UTF-8", merges.string(), i + 1), kOtherCopy);
  }
  if (!lines.empty() && lines.front().starts_with("#version")) lines.erase(lines.begin());
  std::erase(lines, "");
  const fs::path config = directory / kTokenizerConfig;
  const bool space_first = flag_of(read_options(config), "add_prefix_space", false, config.string());
  return Tokenizer::from_bytes(to_byte_level_bpe_json(ids, lines, space_first), directory.string());
}

MarianTokenizers import_marian_tokenizers(const fs::path& directory, const MarianIds& ids) {
  const std::string src_model = read_model(directory, kMarianSource), tgt_model = read_model(directory, kMarianTarget);
  const std::string src_name = (directory / kMarianSource).string(), tgt_name = (directory / kMarianTarget).string();
  const bool joint = !fs::exists(directory / kMarianTargetVocabulary);
  Pieces src = read_vocabulary(directory, kMarianVocabulary);
  Pieces tgt = joint ? src : read_vocabulary(directory, kMarianTargetVocabulary);
  const auto src_vocabulary = static_cast<std::int32_t>(src.size());
  const auto tgt_vocabulary = static_cast<std::int32_t>(tgt.size());
  const std::string vocabulary = (directory / (joint ? kMarianVocabulary : kMarianTargetVocabulary)).string();
  const auto piece_of = [&](std::int32_t id) {
    if (id >= 0 && id < tgt_vocabulary) return tgt[id];
    throw UserError(vocabulary + ": no piece with the id " + std::to_string(id) + " of config.json", kIncomplete);
  };
  const SpecialPieces special{.unk = unknown_piece(directory),
                              .eos = piece_of(ids.eos),
                              .pad = piece_of(ids.pad),
                              .start = piece_of(ids.start)};
  add_missing(src_model, src, src_name);
  if (joint) {
    add_missing(tgt_model, src, tgt_name);
    tgt = src;
  } else {
    add_missing(tgt_model, tgt, tgt_name);
  }
  const std::string with = " with the ids of " + std::string(kMarianVocabulary);
  MarianTokenizers result{.pair = {.src = with_pieces(src_model, src, special, src_name + with),
                                   .tgt = with_pieces(tgt_model, tgt, special, tgt_name + with)},
                          .src_vocabulary = src_vocabulary,
                          .tgt_vocabulary = tgt_vocabulary};
  const SpecialIds& of_tgt = result.pair.tgt.special();
  if (result.pair.src.special().eos < 0 || of_tgt.eos < 0 || of_tgt.bos < 0) {
    throw UserError(directory.string() + ": one of the pieces \"" + special.start + "\" and \"" + special.eos +
                        "\", which begin and end a sentence, is missing or stands for unknown ones",
                    kIncomplete);
  }
  return result;
}

bool have_same_vocabulary(const TokenizerPair& tokenizers) {
  if (tokenizers.src.size() != tokenizers.tgt.size()) return false;
  for (std::int32_t id = 0; id < tokenizers.src.size(); ++id) {
    if (tokenizers.src.piece(id) != tokenizers.tgt.piece(id)) return false;
  }
  return true;
}

MarianOrder export_marian_tokenizers(const TokenizerPair& tokenizers, const fs::path& directory) {
  const bool same = have_same_vocabulary(tokenizers);
  const Tokenizer &src = tokenizers.src, &tgt = tokenizers.tgt;
  const std::string unk = tgt.piece(tgt.special().unk), eos = tgt.piece(tgt.special().eos);
  if (src.piece(src.special().unk) != unk || src.piece(src.special().eos) != eos) {
    throw UserError(
        "cannot be exported: Hugging Face's MarianMT has one name for the unknown piece and one for the end "
        "of a sentence, but the two tokenizers have others",
        "use the model with attend");
  }
  write_file_atomic(directory / kMarianSource, src.bytes());
  write_file_atomic(directory / kMarianTarget, tgt.bytes());
  const auto id_in = [](const std::vector<std::int64_t>& order, std::int32_t id) {
    return static_cast<std::int32_t>(std::ranges::find(order, id) - order.begin());
  };
  MarianOrder order{.src = marian_order(src), .tgt = marian_order(tgt), .ids = {}};
  order.ids = {.eos = id_in(order.tgt, tgt.special().eos), .pad = id_in(order.tgt, tgt.special().bos), .start = 0};
  order.ids.start = order.ids.pad;
  write_file_atomic(directory / kMarianVocabulary, vocabulary_json(src, order.src));
  if (!same) write_file_atomic(directory / kMarianTargetVocabulary, vocabulary_json(tgt, order.tgt));
  const nlohmann::ordered_json config = {{"tokenizer_class", "MarianTokenizer"},
                                         {"separate_vocabs", !same},
                                         {"unk_token", unk},
                                         {"eos_token", eos},
                                         {"pad_token", name_in_vocabulary(tgt, tgt.special().bos)}};
  write_file_atomic(directory / kTokenizerConfig, config.dump(2) + "\n");
  return order;
}

}  // namespace attend
