#include "train/translation/config.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "models/translation/factory.hpp"
#include "train/translation/defaults.hpp"

namespace attend {

void TranslationConfig::refuse_contradictions(const OptionOrigins& origins) const {
  const auto two_files = [&](const char* name, const std::vector<std::string>& files) {
    if (files.size() == 2) return;
    throw UserError(origins(name) + ": " + std::to_string(files.size()) + " files, expected 2",
                    std::string("--") + name + " SOURCE TARGET");
  };
  // Other values come from a resumed run, whose defaults may have differed.
  const auto refuse_given = [&](const std::vector<std::string_view>& options, const std::string& what) {
    for (const std::string_view option : options) {
      if (origins.given(option)) throw UserError(origins(option) + " has no meaning for " + what, "leave it out");
    }
  };
  refuse_given(foreign_options(model), "the model " + std::string(name_of(model.model)));
  if (model.attention != ChoiceKind::hard) refuse_given({"reinforce-weight", "entropy-weight"}, "soft attention");
  // The text chooses one of two widths, both powers of two: a contradiction with one is a contradiction with the other.
  TranslationConfig sized = *this;
  resolve_sizes(sized, 0);
  check_model(sized.model, origins);
  if (model.model == ModelKind::transformer && objective.scheduled_sampling > 0) {
    throw UserError(origins("scheduled-sampling") + ": a Transformer reads all target tokens at once", "leave it out");
  }
  if (objective.scheduled_sampling == 0 && origins.given("sampling-schedule")) {
    throw UserError(origins("sampling-schedule") + ": --scheduled-sampling is 0, so that no share of words grows",
                    model.model == ModelKind::transformer ? "remove it" : "add --scheduled-sampling, or remove it");
  }
  if (model.longest_source && *model.longest_source <= corpus.max_length) {
    throw UserError(fmt::format("{}: {}, but training sentences have up to {} pieces and an end token",
                                origins("longest-source"), *model.longest_source, corpus.max_length),
                    fmt::format("raise it to {}, or lower --max-length", corpus.max_length + 1));
  }
  two_files("train", train);
  if (!valid.empty()) two_files("valid", valid);
  if (valid.empty()) trainer.refuse_validation(origins);
  if (trainer.best_metric == "bleu" && bleu_sentences == 0) {
    throw UserError(origins("best-metric") + ": bleu requires --bleu-sentences above 0", "raise --bleu-sentences");
  }
}

}  // namespace attend
