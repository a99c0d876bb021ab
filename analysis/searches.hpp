// Other searches of a run that is compared, each as a system of its own: beams beside samples and minimum Bayes risk.
//
//   --search "greedy = --beam 1" --search "sampled = --sample 1 --top-p 0.9"
#pragma once

#include <string>
#include <vector>

#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

struct NamedSearch {
  std::string name;
  std::string options;  // as given: "--beam 1"
  TranslatorConfig translator;
};

// The searches that `words` describe, NAME = OPTIONS, with the values of `base` for options that are not among them.
// UserError naming the search for a word of another form, an unknown option, an invalid value, a contradiction, or a
// name that is given twice.
std::vector<NamedSearch> parse_searches(const std::vector<std::string>& words, const TranslatorConfig& base);

// The best translation of each source sentence.
std::vector<Translation> best_translations(const NamedSearch& search, const Run& run,
                                           const std::vector<std::string>& sources);

}  // namespace attend
