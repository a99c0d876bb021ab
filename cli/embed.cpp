// attend embed: a vector for every line, or how alike two texts of a line are.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/model_use.hpp"
#include "core/error.hpp"
#include "data/text/lines.hpp"
#include "eval/text_use.hpp"
#include "models/bert_run.hpp"
#include "models/device.hpp"
#include "models/run.hpp"

namespace attend {
namespace {

struct EmbedConfig {
  std::string run;
  std::string input = "-";
  ModelUse use;
  SentencePooling pooling = SentencePooling::mean;
  bool similarity = false;
  bool json = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "a run of attend pretrain", .placeholder = "DIR", .required = true, .positional = true});
    visit("input", self.input, {.help = "text, one a line; - is standard input", .placeholder = "FILE"});
    ModelUse::visit(self.use, visit);
    visit("pooling", self.pooling, {.help = "the mean of all pieces' states, or the state of [CLS]"});
    visit("similarity", self.similarity,
          {.help = "two texts a line, with a tab between: print the cosine of their vectors"});
    visit("json", self.json, {.help = "one JSON object a line"});
  }
};

// The texts of a line: one, or for a comparison two.
void append_texts(const std::string& line, const EmbedConfig& config, std::uint64_t number,
                  std::vector<std::string>& texts) {
  if (!config.similarity) return texts.push_back(line);
  const auto tab = line.find('\t');
  if (tab == std::string::npos) {
    throw UserError(fmt::format("{}:{}: one text, expected two with a tab between", config.input, number),
                    "without --similarity every line is one text");
  }
  texts.push_back(line.substr(0, tab));
  texts.push_back(line.substr(tab + 1));
}

void write(const std::vector<std::vector<float>>& vectors, const EmbedConfig& config) {
  for (std::size_t i = 0; i < vectors.size(); i += config.similarity ? 2 : 1) {
    if (config.similarity) {
      const double similarity = cosine(vectors[i], vectors[i + 1]);
      std::cout << (config.json ? nlohmann::json{{"similarity", similarity}}.dump()
                                : fmt::format("{:.6f}", similarity));
    } else {
      std::cout << (config.json ? nlohmann::json{{"embedding", vectors[i]}}.dump()
                                : fmt::format("{:.6g}", fmt::join(vectors[i], " ")));
    }
    std::cout << '\n';
  }
}

void run(const EmbedConfig& config, const OptionOrigins& /*origins*/) {
  LineReader reader(config.input);
  const BertRun trained = BertRun::load(config.run, config.use.checkpoint, device_named(config.use.device));
  freeze(*trained.model, config.use.precision);
  std::string line;
  for (bool more = reader.next(line); more;) {
    std::vector<std::string> texts;
    for (; more && texts.size() < lines_at_once(config.input); more = reader.next(line)) {
      append_texts(line, config, reader.counts().lines, texts);
    }
    write(embed(*trained.model->bert, trained.tokenizer, texts, config.pooling), config);
    if (is_typed(config.input)) std::cout.flush();
  }
  if (!std::cout.flush()) throw UserError("standard output: cannot be written", "is the disk full?");
}

}  // namespace

Command embed_command() { return make_command<EmbedConfig>("embed", "gives vectors of texts", run); }

}  // namespace attend
