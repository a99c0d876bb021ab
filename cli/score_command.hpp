// attend score: its options and its two uses, translations given their sources, and texts alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/options.hpp"
#include "data/text/factors.hpp"
#include "eval/score.hpp"
#include "models/run/model_options.hpp"
#include "models/run/run.hpp"

namespace attend {

struct ScoreCommandConfig {
  std::string run;
  std::string source;
  std::string target;
  std::string input = "-";
  std::string contrast;
  bool within_word = false;
  std::optional<std::int64_t> window;
  FactorFiles factors;
  ModelOptions use;
  ScoreConfig score;
  bool per_token = false;
  bool json = false;

  // The fact that options depend on: the kind of model of the run.
  static constexpr std::string_view kModel = "runs of a", kTranslation = "translation model",
                                    kLanguage = "language model", kBert = "BERT";
  static constexpr Condition kTranslations = {kModel, {kTranslation}};
  static constexpr Condition kTexts = {kModel, {kLanguage, kBert}};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Scoring");
    visit("run", self.run,
          {.help = "run of attend train or pretrain", .placeholder = "DIR", .required = true, .positional = true});
    visit("source", self.source,
          {.help = "source text, one sentence per line, plain or .gz; -: standard input; without it --contrast has "
                   "the sources and their translations",
           .placeholder = "FILE",
           .only = kTranslations});
    visit("target", self.target,
          {.help = "translations of the source text, line by line", .placeholder = "FILE", .only = kTranslations});
    visit("input", self.input,
          {.help = "one text per line, plain or .gz; -: standard input", .placeholder = "FILE", .only = kTexts});
    visit("contrast", self.contrast,
          {.help = "minimal pairs; the accuracy is the fraction of pairs whose better text has the higher probability. "
                   "With --target: a file with a worse translation for each of its lines. Otherwise: lines with a "
                   "better and a worse sentence, for a translation model after their source; optionally after the kind "
                   "of the error, or its kind and distance; all separated by tabs",
           .placeholder = "FILE"});
    visit("within-word", self.within_word,
          {.help = "with each piece, also mask the later pieces of its word, which would give it away",
           .only = {kModel, {kBert}}});
    visit("window", self.window,
          {.help = "window of a Transformer, in tokens, for texts that are longer; windows overlap by half; auto: the "
                   "size of its table of positions or, without one, the sum of --length and --memory of training",
           .min = 1,
           .max = 65535,
           .only = {kModel, {kLanguage}}});
    FactorFiles::visit(self.factors, visit, kTranslations);
    ModelOptions::visit(self.use, visit);
    ScoreConfig::visit(self.score, visit);
    visit.group("Output");
    visit("per-token", self.per_token, {.help = "also print the log-probability of every piece"});
    visit("json", self.json, {.help = "print one JSON object per line, and one with the sums at the end"});
  }

  void validate(const OptionOrigins& origins) const {
    const std::array files{&source, &target, &contrast};
    if (std::ranges::count_if(files, [](const std::string* file) { return *file == "-"; }) > 1) {
      throw UserError(origins(contrast == "-" ? "contrast" : "target") + ": standard input (-) can be read only once",
                      "write all but one of the texts to files");
    }
    if (contrast.empty()) return;
    if (per_token && !json) throw UserError(origins("per-token") + " with --contrast needs --json", "add --json");
    refuse_given("input", origins, "with --contrast");
  }
};

void score_translations(const ScoreCommandConfig& config);

// By a run of attend pretrain: a language model, or a BERT.
void score_texts(const ScoreCommandConfig& config, RunKind kind);

}  // namespace attend
