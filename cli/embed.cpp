// attend embed: a vector for every line, or how alike two texts of a line are.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "data/text/lines.hpp"
#include "eval/text_use.hpp"
#include "models/bert_run.hpp"
#include "models/device.hpp"

namespace attend {
namespace {

struct EmbedConfig {
  std::string run;
  std::string input = "-";
  std::string checkpoint = "best";
  std::string device = "auto";
  SentencePooling pooling = SentencePooling::mean;
  bool similarity = false;
  bool json = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run, {.help = "a run of attend pretrain", .placeholder = "DIR", .required = true, .positional = true});
    visit("input", self.input, {.help = "text, one a line; - is standard input", .placeholder = "FILE"});
    visit("checkpoint", self.checkpoint, {.help = "best, last, or the path of a checkpoint"});
    visit("device", self.device, {.help = "auto, cpu, cuda or cuda:N", .placeholder = "NAME"});
    visit("pooling", self.pooling, {.help = "the mean of all pieces' states, or the state of [CLS]"});
    visit("similarity", self.similarity, {.help = "two texts a line, with a tab between: print the cosine of their vectors"});
    visit("json", self.json, {.help = "one JSON object a line"});
  }
};

std::vector<std::string> texts_of(const std::string& line, const EmbedConfig& config, std::uint64_t number) {
  if (!config.similarity) return {line};
  const auto tab = line.find('\t');
  if (tab == std::string::npos) {
    throw UserError(fmt::format("{}:{}: one text, expected two with a tab between", config.input, number),
                    "without --similarity every line is one text");
  }
  return {line.substr(0, tab), line.substr(tab + 1)};
}

void run(const EmbedConfig& config, const OptionOrigins& /*origins*/) {
  LineReader reader(config.input);
  const BertRun trained = BertRun::load(config.run, config.checkpoint, device_named(config.device));
  for (std::string line; reader.next(line);) {
    const std::vector<std::string> texts = texts_of(line, config, reader.counts().lines);
    const auto vectors = embed(*trained.model->bert, trained.tokenizer, texts, config.pooling);
    if (config.similarity) {
      const double similarity = cosine(vectors[0], vectors[1]);
      std::cout << (config.json ? nlohmann::json{{"similarity", similarity}}.dump() : fmt::format("{:.6f}", similarity));
    } else {
      std::cout << (config.json ? nlohmann::json{{"embedding", vectors[0]}}.dump()
                                : fmt::format("{:.6g}", fmt::join(vectors[0], " ")));
    }
    std::cout << '\n';
  }
  if (!std::cout.flush()) throw UserError("standard output: cannot be written", "is the disk full?");
}

}  // namespace

Command embed_command() { return make_command<EmbedConfig>("embed", "gives vectors of texts", run); }

}  // namespace attend
