// attend tokenize: encodes each line of standard input with a tokenizer, or decodes it.
#include <iostream>
#include <sstream>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {
namespace {

struct TokenizeConfig {
  std::string model;
  bool decode = false;
  bool ids = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("model", self.model,
          {.help = "tokenizer file, from attend vocab or a run",
           .file = FileUse::read,
           .required = true,
           .positional = true});
    visit("decode", self.decode, {.help = "convert pieces back to text"});
    visit("ids", self.ids, {.help = "print ids instead of pieces; with --decode, read ids"});
  }
};

std::string encode(const Tokenizer& tokenizer, const std::string& line, bool as_ids) {
  std::string words;
  for (const Piece& piece : tokenizer.encode_pieces(line)) {
    if (!words.empty()) words += ' ';
    words += as_ids ? std::to_string(piece.id) : piece.text;
  }
  return words;
}

std::int32_t parse_id(const Tokenizer& tokenizer, const std::string& word, const std::string& place) {
  const auto id = parse_number<std::int32_t>(word);
  if (!id || *id < 0 || *id >= tokenizer.size()) {
    throw UserError(place + ": found " + word + ", expected an id from 0 to " + std::to_string(tokenizer.size() - 1),
                    "use the tokenizer that produced the ids");
  }
  return *id;
}

std::int32_t id_of_piece(const Tokenizer& tokenizer, const std::string& word, const std::string& place) {
  const std::int32_t id = tokenizer.id_of(word);
  if (id >= 0) return id;
  throw UserError(place + ": \"" + word + "\" is not a piece of this tokenizer, which covers every text",
                  "use the tokenizer that produced the pieces");
}

void run(const TokenizeConfig& config, const OptionOrigins&) {
  const Tokenizer tokenizer = Tokenizer::load(config.model);
  LineReader reader("-");
  std::string line;
  while (reader.next(line)) {
    if (config.decode) {
      std::vector<std::int32_t> ids;
      std::istringstream words(line);
      for (std::string word; words >> word;) {
        ids.push_back((config.ids ? parse_id : id_of_piece)(tokenizer, word, reader.place()));
      }
      line = tokenizer.decode(ids);
    } else {
      line = encode(tokenizer, line, config.ids);
    }
    std::cout << line << '\n';
  }
}

}  // namespace

Command tokenize_command() {
  return make_command<TokenizeConfig>("tokenize", "split each line of standard input into pieces", run,
                                      "joint.model < corpus/test.en");
}

}  // namespace attend
