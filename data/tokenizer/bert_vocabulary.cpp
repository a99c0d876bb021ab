#include "data/tokenizer/bert_vocabulary.hpp"

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "data/tokenizer/json_parts.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "data/tokenizer/wordpiece_json.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

// Only \n, \r or \r\n ends a line, as in BERT's own reader.
std::vector<std::string> read_pieces(const fs::path& path) {
  const std::string text = read_file(path, kMaxTokenizerBytes);
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    pieces.push_back(text.substr(at, end - at));
    at = end + (text.compare(end, 2, "\r\n") == 0 ? 2 : 1);
  }
  return pieces;
}

WordPieceConfig read_config(const fs::path& path) {
  if (!fs::exists(path)) return {};
  const nlohmann::json config = read_json(path);
  if (!config.is_object()) throw UserError(path.string() + ": not a JSON object, expected options", "use another copy");
  const bool lower_case = flag_of(config, "do_lower_case", true, path.string());
  return {.lower_case = lower_case,
          .strip_accents = flag_of(config, "strip_accents", lower_case, path.string()),
          .split_ideographs = flag_of(config, "tokenize_chinese_chars", true, path.string())};
}

WordPiece read_vocabulary(const fs::path& directory) {
  const fs::path whole = directory / "tokenizer.json", pieces = directory / "vocab.txt";
  if (fs::exists(whole)) return read_wordpiece_json(read_json(whole, kMaxTokenizerBytes), whole.string());
  if (!fs::exists(pieces)) {
    throw UserError(directory.string() + ": neither tokenizer.json nor vocab.txt",
                    "name the directory of a BERT model that includes its tokenizer");
  }
  return {read_pieces(pieces), read_config(directory / "tokenizer_config.json"), pieces.string()};
}

}  // namespace

Tokenizer import_bert_tokenizer(const fs::path& directory) {
  if (fs::exists(directory / kSentencePieceFile)) return load_encoder_tokenizer(directory / kSentencePieceFile);
  return Tokenizer::from_bytes(to_wordpiece_json(read_vocabulary(directory)), directory.string());
}

}  // namespace attend
