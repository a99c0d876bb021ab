// The options of attend score, for translations given their sources, and for texts alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/options.hpp"
#include "eval/score.hpp"
#include "models/run/device.hpp"

namespace attend {

struct ScoreCommandConfig {
  std::string run;
  std::string source;
  std::string target;
  std::string input = "-";
  std::vector<std::string> contrast;
  std::vector<std::string> cut;
  bool within_word = false;
  std::optional<std::int64_t> window;
  ModelOptions use;
  ScoreConfig score;
  bool per_token = false;
  bool json = false;

  // The fact that options depend on: the kind of model of the run.
  static constexpr Fact kModel{"runs of a"};
  static constexpr std::string_view kTranslation = "translation model", kLanguage = "language model", kBert = "BERT";
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
           .file = FileUse::read,
           .only = kTranslations});
    visit("target", self.target,
          {.help = "translations of the source text, line by line", .file = FileUse::read, .only = kTranslations});
    visit("contrast", self.contrast,
          {.help = "minimal pairs; the accuracy is the fraction of pairs whose better text has the higher probability. "
                   "With --target: a file with a worse translation for each of its lines. Otherwise: files of lines "
                   "with a better and a worse sentence, for a translation model after their source; optionally after "
                   "the kind of the error, or its kind and distance; all separated by tabs; or *.jsonl of BLiMP",
           .file = FileUse::read});
    visit(
        "cut", self.cut,
        {.help = "cut attention in the pairs of --contrast: encoder, decoder or cross, and a file with a line of links "
                 "for each pair: 8-4 sets the weight of word 8 on word 4, counted from 0, to 0 in all heads. In cross, "
                 "word 8 is of the translation, word 4 of its source",
         .placeholder = "PLACE=FILE",
         .file = FileUse::read,
         .only = {"contrast"}});
    visit.group("Scoring", kTexts);
    visit("input", self.input,
          {.help = "one text per line, plain or .gz; -: standard input",
           .file = FileUse::read,
           .only = without("contrast")});
    visit.group("Scoring");
    visit("within-word", self.within_word,
          {.help = "with each piece, also mask the later pieces of its word, which would give it away",
           .only = {kModel, {kBert}}});
    visit("window", self.window,
          {.help = "window of a Transformer, in tokens, for texts that are longer; windows overlap by half; auto: the "
                   "size of its table of positions or, without one, the sum of --length and --memory of training",
           .min = 1,
           .max = 65535,
           .only = {kModel, {kLanguage}}});
    ModelOptions::visit(self.use, visit);
    ScoreConfig::visit(self.score, visit);
    visit.group("Output");
    visit("per-token", self.per_token, {.help = "also print the log-probability of every piece"});
    visit("json", self.json, {.help = "print one JSON object per line, and one with the sums at the end"});
  }

  // Reads the record of the run. UserError for a fine-tuned one.
  Facts facts() const;

  void validate(const OptionOrigins& origins) const {
    if (!cut.empty() && !target.empty()) {
      throw UserError(origins("cut") + " has no meaning with --target",
                      "give the pairs with their sources in --contrast");
    }
    if (contrast.empty()) return;
    if (per_token && !json) throw UserError(origins("per-token") + " with --contrast needs --json", "add --json");
  }
};

}  // namespace attend
