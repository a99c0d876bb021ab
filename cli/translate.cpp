// attend translate: lines of text through a trained run.
#include <ATen/Parallel.h>

#include <deque>
#include <iostream>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/model_options.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "data/text/lines.hpp"
#include "eval/translate.hpp"
#include "eval/translation_attention.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

struct TranslateConfig {
  std::string run;
  std::vector<std::string> input;
  ModelOptions use;
  LineOptions lines;
  TranslatorConfig translator;
  TranslationAttentionConfig attention;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Translation");
    visit("run", self.run,
          {.help = "the run directory of a trained model", .placeholder = "DIR", .required = true, .positional = true});
    visit("input", self.input,
          {.help = "files to translate, plain or .gz; without one, standard input", .placeholder = "FILE"});
    ModelOptions::visit(self.use, visit);
    LineOptions::visit(self.lines, visit);
    TranslatorConfig::visit(self.translator, visit);
    TranslationAttentionConfig::visit(self.attention, visit);
  }
  void validate(const OptionOrigins& origins) const {
    translator.validate(origins);
    attention.validate(origins);
  }
};

// One line out for each line in; with several hypotheses, one for each of them.
void print(const std::vector<Translation>& translations, std::int64_t number, bool numbered) {
  for (const Translation& translation : translations) {
    if (numbered) {
      std::cout << number << " ||| " << translation.text << " ||| " << translation.hypothesis.score << '\n';
    } else {
      std::cout << translation.text << '\n';
    }
  }
}

// Translates all lines; where attention is asked for, it is that of their best translations.
void translate(const TranslateConfig& config, const std::vector<std::string>& inputs, std::deque<LineReader>& readers,
               const Run& trained, TranslationAttention* attention) {
  Translator translator(*trained.model, trained.tokenizers, config.translator);
  std::deque<std::string> lines;  // read and not yet translated, where their attention is asked for
  std::int64_t number = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    LineReader& reader = readers[i];
    const bool at_once = config.lines.at_once(inputs[i]);
    const auto next = [&](std::string& line) {
      const bool more = reader.next(line);
      if (more && attention != nullptr) lines.push_back(line);
      return more;
    };
    const auto emit = [&](const std::vector<Translation>& translations) {
      print(translations, number++, config.translator.search.nbest > 1);
      if (at_once) std::cout.flush();
      if (attention == nullptr) return;
      attention->add(lines.front(), translations.front());
      lines.pop_front();
    };
    translator.translate_stream(next, emit, at_once);
    reader.counts().log(inputs[i]);
  }
  translator.warn_of_cut();
}

// Observes the lines with their references; nothing is translated.
void observe_references(const std::string& file, const std::vector<std::string>& inputs,
                        std::deque<LineReader>& readers, TranslationAttention& attention) {
  LineReader references(file);
  std::string line, reference;
  std::uint64_t num_lines = 0;
  const std::string remedy = "give a reference for each line";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    while (readers[i].next(line)) {
      if (!references.next(reference)) {
        throw UserError(file + ": " + std::to_string(num_lines) + " lines, but " + readers[i].place() + " is another",
                        remedy);
      }
      ++num_lines;
      attention.add_reference(line, reference);
    }
    readers[i].counts().log(inputs[i]);
  }
  if (references.next(reference)) {
    throw UserError(references.place() + ": the input has only " + std::to_string(num_lines) + " lines", remedy);
  }
  references.counts().log(file);
}

void refuse_without_weights(const Run& trained, const OptionOrigins& origins, const std::string& run) {
  const bool hard = trained.config.attention == ChoiceKind::hard;
  if (!hard && trained.config.model != ModelKind::fixed) return;
  throw UserError(origins("attention-threshold") + ": " + run +
                      (hard ? " has hard attention, which reads one position and no weights" : " has no attention"),
                  "leave it out");
}

void run(const TranslateConfig& config, const OptionOrigins& origins) {
  signals::install();
  at::set_num_threads(static_cast<int>(config.translator.threads));
  const std::vector<std::string> inputs = config.input.empty() ? std::vector<std::string>{"-"} : config.input;
  std::deque<LineReader> readers;  // opened first: a file that cannot be read is said at once
  for (const std::string& input : inputs) readers.emplace_back(input);
  if (!config.attention.reference.empty()) check_text_file(config.attention.reference);
  const Run trained = Run::load(config.run, config.use.checkpoint, device_named(config.use.device));
  if (config.translator.search.attention_threshold > 0) refuse_without_weights(trained, origins, config.run);
  freeze(*trained.model, config.use.precision);
  std::optional<TranslationAttention> attention;
  if (config.attention.asked()) {
    attention.emplace(config.attention, trained, config.run, config.translator.search.attention_threshold);
  }
  if (config.attention.reference.empty()) {
    translate(config, inputs, readers, trained, attention ? &*attention : nullptr);
  } else {
    observe_references(config.attention.reference, inputs, readers, *attention);
  }
  if (attention) attention->finish();
}

}  // namespace

Command translate_command() {
  return make_command<TranslateConfig>("translate", "translate lines of text with a trained run", run);
}

}  // namespace attend
