// The options of attend translate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/input.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/options.hpp"
#include "eval/line_requests.hpp"
#include "eval/postprocess.hpp"
#include "eval/search/ensemble.hpp"
#include "eval/translate.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/device.hpp"

namespace attend {

struct TranslateConfig {
  std::vector<std::string> runs;
  std::vector<std::string> input = {"-"};
  ModelOptions use;
  LineOptions lines;
  TranslatorConfig translator;
  LineRequestConfig asked;
  bool replace_unknown = false;
  std::string dictionary;
  EnsembleConfig ensemble;
  RerankConfig rerank;
  std::string alignment;
  std::optional<std::int64_t> alignment_layer;
  std::string scores;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Translation");
    visit("runs", self.runs,
          {.help = "run of attend train; several with one target vocabulary translate together, as an ensemble",
           .placeholder = "RUN",
           .required = true,
           .positional = true});
    visit("input", self.input,
          {.help = "files to translate, plain or .gz; -: standard input", .file = FileUse::read, .common = true});
    ModelOptions::visit(self.use, visit);
    LineOptions::visit(self.lines, visit);
    TranslatorConfig::visit(self.translator, visit);
    LineRequestConfig::visit(self.asked, visit);
    visit.group("Unknown words", {kTranslationFrom, {kFirstToLast}});
    visit("replace-unknown", self.replace_unknown,
          {.help = "replace each unknown piece of a translation by the source word attended to most, in the decoder's "
                   "last layer, averaged over heads"});
    visit("dictionary", self.dictionary,
          {.help = "file of lines SOURCE<TAB>TARGET: print TARGET instead of the source word SOURCE; of several lines "
                   "for one word, the first counts",
           .file = FileUse::read,
           .only = {"replace-unknown"}});
    EnsembleConfig::visit(self.ensemble, visit);
    RerankConfig::visit(self.rerank, visit);
    visit.group("Alignment");
    visit("alignment", self.alignment,
          {.help = "file for the word alignment of each line and its best translation, or its first sample, by the "
                   "attention of the first run: SOURCE-TARGET for every target word, counted from 0",
           .file = FileUse::write,
           .common = true});
    visit("alignment-layer", self.alignment_layer,
          {.help =
               "decoder layer (from 0) whose cross-attention, averaged over heads, gives the alignment; auto: the last",
           .min = 0,
           .max = 95,
           .only = {"alignment"}});
    visit.group("Scores");
    visit("scores", self.scores,
          {.help = "file for the log-probabilities of every translation and its pieces, as JSON lines",
           .file = FileUse::write,
           .common = true});
  }

  Facts facts() const {
    Facts all = translator.facts(!rerank.rerank.empty());
    all[kTranslationBy] = {std::string(runs.size() == 1 ? kSingleRun : kSeveralRuns)};
    return all;
  }

  // Throws UserError for contradictory options.
  void validate(const OptionOrigins& origins) const {
    translator.validate(origins);
    asked.validate(origins, translator.candidates());
    ensemble.weights_of(runs.size(), origins);
    refuse_meaningless_to_several(origins);
    refuse_nothing_to_rerank(origins);
  }

  // --checkpoint, unless it names weights of the run that translates.
  std::string checkpoint_of_reranker() const {
    return use.checkpoint == "best" || use.checkpoint == "last" ? use.checkpoint : "auto";
  }

 private:
  void refuse_meaningless_to_several(const OptionOrigins& origins) const {
    if (runs.size() == 1) return;
    if (translator.search.coverage_penalty > 0) {
      throw UserError(origins("coverage-penalty") + ": an ensemble has no attention of its own", "leave it out");
    }
    if (!is_checkpoint_path(use.checkpoint)) return;
    throw UserError(origins("checkpoint") + " " + use.checkpoint + ": a path names the weights of one run, but " +
                        std::to_string(runs.size()) + " are given",
                    "give auto, best or last");
  }

  void refuse_nothing_to_rerank(const OptionOrigins& origins) const {
    if (rerank.rerank.empty()) return;
    if (translator.mbr > 0) {
      throw UserError(origins("rerank") + " with --mbr: both choose among the hypotheses", "leave one of them out");
    }
    if (translator.search.rows() == 1) {
      const std::string search = translator.search.sample > 0 ? "--sample 1" : "a beam of 1";
      throw UserError(origins("rerank") + ": " + search + " has a single hypothesis",
                      "give --beam 2 or more, or --sample 2 or more without --beam");
    }
  }
};

}  // namespace attend
