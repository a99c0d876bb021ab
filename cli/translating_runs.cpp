#include "cli/translating_runs.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "models/run/device.hpp"

namespace attend {
namespace {

void refuse_without_weights(const Run& trained, const OptionOrigins& origins, const std::string& run) {
  const bool hard = trained.config.attention == ChoiceKind::hard;
  if (!hard && trained.config.model != ModelKind::fixed) return;
  throw UserError(
      origins("attention-threshold") + ": " + run +
          (hard ? " has hard attention, which selects one position instead of weighting all" : " has no attention"),
      "leave it out");
}

void refuse_other_target(const Run& trained, const std::string& run, const Run& first, const std::string& first_run) {
  const Tokenizer &tgt = trained.tokenizers.tgt, &expected = first.tokenizers.tgt;
  if (tgt.hash() != expected.hash()) {
    throw UserError(run + ": another target tokenizer than that of " + first_run,
                    "an ensemble needs one target vocabulary: train its runs with the same --tokenizer");
  }
  if (tgt.is_reversed() == expected.is_reversed()) return;
  const std::string& reversed = tgt.is_reversed() ? run : first_run;
  const std::string& other = tgt.is_reversed() ? first_run : run;
  throw UserError(reversed + ": trained with --reverse-target, but " + other + " is not",
                  "translate with the other runs and --rerank " + reversed);
}

// What counts on a translation's being written from its first word to its last.
void refuse_word_order(const TranslateConfig& config, const OptionOrigins& origins) {
  const auto& [prefix, constraints, forbid] = config.asked;
  for (const auto& [option, is_used] : {std::pair("prefix", !prefix.empty()),
                                        {"constraints", !constraints.empty()},
                                        {"forbid", !forbid.empty()},
                                        {"replace-unknown", config.replace_unknown}}) {
    if (!is_used) continue;
    throw UserError(origins(option) + ": " + config.runs.front() + " was trained with --reverse-target",
                    "leave it out, or translate with another run");
  }
}

// Lines carry the labels of the first run alone.
void refuse_factors(const Run& trained, const std::string& run) {
  if (trained.tokenizers.factors.count() == 0) return;
  throw UserError(run + ": trained with --source-factors, which only the first run may be", "name another run");
}

}  // namespace

Companions TranslatingRuns::companions(EnsembleKind kind) const {
  Companions others{.kind = kind, .weights = weights};
  for (std::size_t i = 1; i < together.size(); ++i) {
    others.models.push_back({.model = together[i].model.get(), .src = together[i].tokenizers.src});
  }
  return others;
}

std::size_t TranslatingRuns::most_pieces() const {
  std::size_t most = kMostPieces;
  for (const Run& trained : together) most = std::min(most, most_source_pieces(*trained.model));
  return most;
}

TranslatingRuns load_runs(const TranslateConfig& config, const OptionOrigins& origins) {
  TranslatingRuns runs{.together = {}, .weights = config.ensemble.weights_of(config.runs.size(), origins)};
  const auto device = device_named(config.use.device);
  for (const std::string& path : config.runs) {
    const Run& trained = runs.together.emplace_back(Run::load(path, config.use.checkpoint, device));
    if (runs.together.size() == 1) {
      check_factor_files(trained.tokenizers, path, config.factors.source_factors.size());
    } else {
      refuse_factors(trained, path);
    }
    refuse_other_target(trained, path, runs.together.front(), config.runs.front());
    if (config.translator.search.attention_threshold > 0) refuse_without_weights(trained, origins, path);
    if (config.translator.search.coverage_penalty > 0 && trained.config.model == ModelKind::fixed) {
      throw UserError(origins("coverage-penalty") + ": " + path + " has no attention", "leave it out");
    }
  }
  if (runs.together.front().tokenizers.tgt.is_reversed()) refuse_word_order(config, origins);
  if (!config.rerank.rerank.empty()) {
    runs.rerank = Run::load(config.rerank.rerank, config.checkpoint_of_reranker(), device);
    refuse_factors(*runs.rerank, config.rerank.rerank);
  }
  for (const Run& trained : runs.together) freeze(*trained.model, config.use.precision);
  if (runs.rerank) freeze(*runs.rerank->model, config.use.precision);
  return runs;
}

}  // namespace attend
