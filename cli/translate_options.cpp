#include "cli/translate_options.hpp"

#include <algorithm>
#include <utility>

#include "core/conditions.hpp"
#include "core/error.hpp"

namespace attend {

void TranslateConfig::validate(const OptionOrigins& origins) const {
  translator.validate(origins, !rerank.rerank.empty());
  asked.validate(origins, translator.candidates());
  refuse_two_readers(origins);
  ensemble.weights_of(runs.size(), origins);
  refuse_meaningless_to_several(origins);
  refuse_nothing_to_rerank(origins);
  for (const auto& [option, file] : {std::pair("alignment", &alignment), std::pair("scores", &scores)}) {
    if (*file != "-") continue;
    throw UserError(origins(option) + " is -, but standard output carries the translations", "name a file");
  }
  if (!scores.empty() && scores == alignment) {
    throw UserError(origins("scores") + " is the file of " + origins("alignment"), "name two files");
  }
  TranslateConfig resolved = *this;
  resolved.translator.search = translator.candidates();
  refuse_inapplicable(resolved, given_place(origins));
}

// Standard input can be read once.
void TranslateConfig::refuse_two_readers(const OptionOrigins& origins) const {
  std::string reader = input.empty() || std::ranges::find(input, "-") != input.end() ? "the lines" : "";
  for (const auto& [option, file] : {std::pair("prefix", &asked.prefix),
                                     {"constraints", &asked.constraints},
                                     {"forbid", &asked.forbid},
                                     {"dictionary", &dictionary}}) {
    if (*file != "-") continue;
    if (!reader.empty()) {
      throw UserError(origins(option) + " is -, but standard input carries " + reader, "name a file");
    }
    reader = std::string("the file of --") + option;
  }
}

void TranslateConfig::refuse_meaningless_to_several(const OptionOrigins& origins) const {
  if (runs.size() == 1) return;
  if (translator.search.coverage_penalty > 0) {
    throw UserError(origins("coverage-penalty") + ": an ensemble has no attention of its own", "leave it out");
  }
  if (!names_checkpoint_by_path()) return;
  throw UserError(origins("checkpoint") + " " + use.checkpoint + ": a path names the weights of one run, but " +
                      std::to_string(runs.size()) + " are given",
                  "give auto, best or last");
}

void TranslateConfig::refuse_nothing_to_rerank(const OptionOrigins& origins) const {
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

}  // namespace attend
