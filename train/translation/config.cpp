#include "train/translation/config.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "models/translation/factory.hpp"

namespace attend {

void TranslationConfig::refuse_contradictions(const OptionOrigins& origins) const {
  const auto two_files = [&](const char* name, const std::vector<std::string>& files) {
    if (files.size() == 2) return;
    throw UserError(origins(name) + ": " + std::to_string(files.size()) + " files, expected 2",
                    std::string("--") + name + " SOURCE TARGET");
  };
  for (const std::string_view option : foreign_options(model)) {
    if (!origins.given(option)) continue;
    throw UserError(fmt::format("{} has no meaning for the model {}", origins(option), name_of(model.model)),
                    "remove it");
  }
  if (model.model == ModelKind::transformer && objective.scheduled_sampling > 0) {
    throw UserError(origins("scheduled-sampling") + ": a Transformer reads all target words at once", "remove it");
  }
  if (model.attention != ChoiceKind::hard) {
    refuse_changed(objective, {"reinforce-weight", "entropy-weight"}, "soft attention");
  }
  if (model.longest_source && *model.longest_source <= corpus.max_length) {
    throw UserError(fmt::format("{}: {}, but sentences of up to {} pieces and their end are trained on",
                                origins("longest-source"), *model.longest_source, corpus.max_length),
                    fmt::format("raise it to {}, or lower --max-length", corpus.max_length + 1));
  }
  for (const auto& [option, file] :
       {std::pair("init-embeddings-src", init_embeddings_src), std::pair("init-embeddings-tgt", init_embeddings_tgt)}) {
    if (file.empty() || run.init_from.empty()) continue;
    throw UserError(origins(option) + ": --init-from already determines the embeddings", "remove one of them");
  }
  two_files("train", train);
  if (!valid.empty()) two_files("valid", valid);
  if (valid.empty()) trainer.refuse_validation(origins);
  if (trainer.best_metric == "bleu" && bleu_sentences == 0) {
    throw UserError(origins("best-metric") + ": bleu, but --bleu-sentences is 0", "raise --bleu-sentences");
  }
}

}  // namespace attend
