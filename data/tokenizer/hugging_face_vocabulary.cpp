#include "data/tokenizer/hugging_face_vocabulary.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/utf8.hpp"
#include "data/tokenizer/byte_level_bpe_json.hpp"
#include "data/tokenizer/json_parts.hpp"
#include "data/tokenizer/wordpiece_json.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kTokenizerJson = "tokenizer.json";

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
  throw UserError(path.string() + ": not a JSON object, expected options", "use another copy");
}

WordPiece read_wordpiece(const fs::path& directory) {
  const fs::path whole = directory / kTokenizerJson, pieces = directory / "vocab.txt";
  if (fs::exists(whole)) return read_wordpiece_json(read_json(whole, kMaxTokenizerBytes), whole.string());
  if (!fs::exists(pieces)) {
    throw UserError(directory.string() + ": neither tokenizer.json nor vocab.txt",
                    "name the directory of a BERT model that includes its tokenizer");
  }
  const fs::path config = directory / "tokenizer_config.json";
  const json options = read_options(config);
  const auto flag = [&](const char* key, bool otherwise) { return flag_of(options, key, otherwise, config.string()); };
  const bool lower_case = flag("do_lower_case", true);
  return {lines_of(pieces),
          {.lower_case = lower_case,
           .strip_accents = flag("strip_accents", lower_case),
           .split_ideographs = flag("tokenize_chinese_chars", true)},
          pieces.string()};
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
    throw UserError(vocabulary.string() + ": not an object, expected pieces with their ids", "use another copy");
  }
  std::vector<std::string> lines = lines_of(merges);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!is_utf8(lines[i]))
      throw UserError(fmt::format("{}:{}: not UTF-8", merges.string(), i + 1), "use another copy");
  }
  if (!lines.empty() && lines.front().starts_with("#version")) lines.erase(lines.begin());
  std::erase(lines, "");
  const fs::path config = directory / "tokenizer_config.json";
  const bool space_first = flag_of(read_options(config), "add_prefix_space", false, config.string());
  return Tokenizer::from_bytes(to_byte_level_bpe_json(ids, lines, space_first), directory.string());
}

}  // namespace attend
