// attend vocab: trains one tokenizer on all files together, or one per file. attend tokenize: encodes each line of
// standard input with a tokenizer, or decodes it.
#include <algorithm>
#include <deque>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"

namespace attend {
namespace {

struct VocabConfig {
  std::vector<std::string> input;
  std::vector<std::string> output;
  TokenizerConfig tokenizer;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit(
        "input", self.input,
        {.help = "training text, plain or .gz, in one or several languages", .file = FileUse::read, .required = true});
    visit("output", self.output,
          {.help = "output file of the tokenizer; with as many files as inputs, one tokenizer is trained per input",
           .file = FileUse::write,
           .required = true});
    TokenizerConfig::visit(self.tokenizer, visit);
  }

  void validate(const OptionOrigins& origins) const {
    if (output.size() != 1 && output.size() != input.size()) {
      throw UserError(origins("output") + ": " + counted(std::ssize(output), "name") + " for " +
                          counted(std::ssize(input), "input"),
                      "give one name, or one for each input");
    }
  }
};

void make(const std::vector<std::string>& input, const std::string& output, AtomicFile& file,
          const TokenizerConfig& config) {
  const Tokenizer tokenizer = train_tokenizer(input, config);
  file.write(tokenizer.bytes());
  file.commit();
  log::info("{}: {} pieces, {}", output, tokenizer.size(), name_of(config.type));
}

void run(const VocabConfig& config, const OptionOrigins&) {
  signals::install();
  std::ranges::for_each(config.input, check_text_file);
  std::deque<AtomicFile> files;
  for (const std::string& output : config.output) {
    refuse_existing(output, "--output");
    files.emplace_back(output);
  }
  if (config.output.size() == 1) return make(config.input, config.output.front(), files.front(), config.tokenizer);
  for (std::size_t i = 0; i < config.input.size(); ++i) {
    make({config.input[i]}, config.output[i], files[i], config.tokenizer);
  }
}

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

Command vocab_command() {
  return make_command<VocabConfig>("vocab", "train a tokenizer on text", run,
                                   "--input corpus/train.en corpus/train.de --output joint.model");
}

Command tokenize_command() {
  return make_command<TokenizeConfig>("tokenize", "split each line of standard input into pieces", run,
                                      "joint.model < corpus/test.en");
}

}  // namespace attend
