// attend vocab: trains one tokenizer on all files together, or one per file.
#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
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

}  // namespace

Command vocab_command() {
  return make_command<VocabConfig>("vocab", "train a tokenizer on text", run,
                                   "--input corpus/train.en corpus/train.de --output joint.model");
}

}  // namespace attend
