// attend generate: continues texts with a trained language model.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "core/conditions.hpp"
#include "core/log.hpp"
#include "eval/generate.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

struct GenerateCommandConfig {
  std::string run;
  std::vector<std::string> prompt;
  std::string input = "-";
  ModelOptions use;
  LineOptions lines;
  GenerateConfig generate;
  bool json = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Generation");
    visit("run", self.run,
          {.help = "run of attend pretrain --objective causal or hybrid",
           .placeholder = "RUN",
           .required = true,
           .positional = true});
    visit("prompt", self.prompt,
          {.help = "texts to continue, instead of --input; an empty text begins a document",
           .placeholder = "TEXT",
           .common = true});
    visit("input", self.input,
          {.help = "texts to continue, one per line, plain or .gz; a blank line begins a document; -: standard input",
           .file = FileUse::read,
           .common = true,
           .only = without("prompt")});
    ModelOptions::visit(self.use, visit);
    visit.group("Generation", without("prompt"));
    LineOptions::visit(self.lines, visit);
    GenerateConfig::visit(self.generate, visit);
    visit.group("Output");
    visit("json", self.json,
          {.help = "print one JSON object per continuation, with its prompt and log p", .common = true});
  }

  void validate(const OptionOrigins& origins) const { generate.validate(origins); }

  // True if a continuation may be printed as it grows: one, as text, on a terminal.
  bool may_stream() const { return !json && generate.search().rows() == 1 && isatty(STDOUT_FILENO) != 0; }
};

void print(const GenerateCommandConfig& config, const GenerationPrompt& prompt, const Continuation& continuation) {
  if (!config.json) {
    std::cout << continuation.text << '\n';
    return;
  }
  const nlohmann::ordered_json object = {{"prompt", prompt.text},
                                         {"text", continuation.text},
                                         {"pieces", continuation.ids.size()},
                                         {"log_prob", continuation.log_prob},
                                         {"ended", name_of(continuation.ended)}};
  std::cout << object.dump() << '\n';
}

// Prints a line, or JSON object, for each continuation; if `streams`, that of the only prompt as it grows.
void continue_together(const GenerateCommandConfig& config, Generator& generator,
                       const std::vector<GenerationPrompt>& prompts, bool streams, WorkProgress& progress) {
  if (streams) {
    generator.stream(prompts.front(), [](std::string_view part) { std::cout << part << std::flush; });
    std::cout << '\n';
    return;
  }
  const auto continuations = generator.generate(prompts);
  progress.clear();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    for (const Continuation& continuation : continuations[i]) print(config, prompts[i], continuation);
  }
}

void continue_prompts(const GenerateCommandConfig& config, const LanguageRun& trained) {
  const bool streams = config.prompt.size() == 1 && config.may_stream();
  const std::int64_t count = std::ssize(config.prompt);
  WorkProgress progress({.unit = "prompts", .total = count, .is_shown = !streams});
  Generator generator(*trained.model, trained.tokenizer, config.generate, &progress);
  std::vector<GenerationPrompt> prompts;
  for (const std::string& text : config.prompt) {
    prompts.push_back({.text = text, .place = fmt::format("--prompt, text {}", prompts.size() + 1)});
  }
  continue_together(config, generator, prompts, streams, progress);
}

void continue_lines(const GenerateCommandConfig& config, InputLines& input, const LanguageRun& trained) {
  const bool streams = input.at_once() && config.may_stream();
  WorkProgress progress(work_on_lines({config.input}, config.lines));
  Generator generator(*trained.model, trained.tokenizer, config.generate, &progress);
  while (true) {
    std::vector<GenerationPrompt> prompts;
    const auto add = [&](const std::string& line) { prompts.push_back({.text = line, .place = input.place()}); };
    if (!input.next_together(add)) break;
    continue_together(config, generator, prompts, streams, progress);
  }
  input.log_counts();
}

void run(const GenerateCommandConfig& config, const OptionOrigins& /*origins*/) {
  begin_work(config.generate.threads);
  std::optional<InputLines> input;  // opened first, to report an unreadable file at once
  if (config.prompt.empty()) input.emplace(config.input, config.lines);
  const auto trained = load_run_as<LanguageRun>(config.run, config.use);
  input ? continue_lines(config, *input, trained) : continue_prompts(config, trained);
}

}  // namespace

Command generate_command() {
  return make_command<GenerateCommandConfig>("generate", "continue texts with a language model", run,
                                             "runs/lm --samples 3 --top-p 0.9 < beginnings.txt");
}

}  // namespace attend
