#include "data/tokenizer/gpt2_vocabulary.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "data/tokenizer/bert_vocabulary.hpp"
#include "data/tokenizer/byte_level_bpe_json.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The lines of merges.txt but for a first one with its version.
json read_merges(const fs::path& path) {
  const std::string text = read_file(path, kMaxTokenizerBytes);
  json merges = json::array();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !(at == 0 && line.starts_with("#version"))) merges.push_back(line);
    at = end + 1;
  }
  return merges;
}

bool reads_space_first(const fs::path& path) {
  if (!fs::exists(path)) return false;
  const json config = read_json(path);
  const auto found = config.find("add_prefix_space");
  return found != config.end() && !found->is_null() && json_member<bool>(config, "add_prefix_space", path.string());
}

}  // namespace

Tokenizer import_gpt2_tokenizer(const fs::path& directory) {
  for (const char* whole : {kSentencePieceFile, "tokenizer.json"}) {
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
  const bool space_first = reads_space_first(directory / "tokenizer_config.json");
  return Tokenizer::from_bytes(to_byte_level_bpe_json(ids, read_merges(merges), space_first), directory.string());
}

}  // namespace attend
