// attend score: log-probabilities of given translations or texts, by the kind of run, and the accuracy of contrastive
// pairs.
#include <ATen/Parallel.h>

#include <string>
#include <string_view>
#include <utility>

#include "cli/command.hpp"
#include "cli/score_command.hpp"
#include "core/signals.hpp"

namespace attend {
namespace {

std::string_view model_of(RunKind kind, const std::string& run) {
  switch (kind) {
    case RunKind::train: return ScoreCommandConfig::kTranslation;
    case RunKind::language: return ScoreCommandConfig::kLanguage;
    case RunKind::pretrain: return ScoreCommandConfig::kBert;
    case RunKind::finetune: break;
  }
  throw UserError(run + ": a run of attend finetune, which gives texts labels, not probabilities",
                  "give the RUN directory of attend train or pretrain");
}

// Throws UserError unless a source and a target are given, or pairs that contain both.
void check_translations(const ScoreCommandConfig& config) {
  if (!config.contrast.empty() && config.source.empty() && config.target.empty()) return;
  for (const auto& [name, file] : {std::pair("source", config.source), std::pair("target", config.target)}) {
    if (!file.empty()) continue;
    throw UserError(
        std::string("attend score: --") + name + " is missing: " + config.run + " translates",
        "give the source text and its translations with --source and --target, or pairs of translations with "
        "--contrast");
  }
}

void run(const ScoreCommandConfig& config, const OptionOrigins& origins) {
  const RunKind kind = kind_of_run(config.run);
  const std::string model(model_of(kind, config.run));
  refuse_inapplicable(config, given_place(origins), {{std::string(ScoreCommandConfig::kModel), model}});
  signals::install();
  at::set_num_threads(static_cast<int>(config.score.threads));
  if (kind != RunKind::train) return score_texts(config, kind);
  check_translations(config);
  score_translations(config);
}

}  // namespace

Command score_command() {
  return make_command<ScoreCommandConfig>("score", "compute the log-probability of translations or texts", run);
}

}  // namespace attend
