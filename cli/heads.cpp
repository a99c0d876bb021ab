// attend heads: reports what each attention head of a run, or its recurrent attention, does.
#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <string>

#include "analysis/heads.hpp"
#include "analysis/report/json.hpp"
#include "analysis/silencing.hpp"
#include "cli/command.hpp"
#include "cli/report_directory.hpp"
#include "core/command_line.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "eval/score.hpp"
#include "models/run/kind.hpp"
#include "models/run/new_run.hpp"

namespace attend {
namespace {

struct HeadsOfRunConfig {
  HeadStudy study;
  ReportOutput output;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Heads");
    HeadStudy::visit(self.study, visit);
    ReportOutput::visit(self.output, visit);
    ScoreConfig::visit(self.study.scoring, visit, HeadStudy::kOfChanged);
  }

  // Reads the run. UserError for one without attention.
  Facts facts() const {
    check_attends(study.run);
    const std::filesystem::path path = run_of_best_seed(study.run);
    const RunKind kind = kind_of_run(path);
    const bool is_recurrent = translates_recurrently(path);
    FactValue attention{std::string(is_recurrent ? kReplaced : kSilenced), study.run};
    if (kind == RunKind::finetune) attention = {std::string(kOnlyDescribed), study.run + " is fine-tuned"};
    if (kind == RunKind::train && study.test.empty()) attention = {std::string(kOnlyDescribed), "without --test"};
    return {{kRunsOfAttend, trained_by(study.run)},
            {kRunsWith, {std::string(is_recurrent ? kRecurrentAttention : kHeads), study.run}},
            {kAttentionThatIs, attention}};
  }

  void validate(const OptionOrigins& origins) const {
    if (!study.test.empty()) check_two_files("test", study.test, origins);
    const bool is_recurrent = translates_recurrently(run_of_best_seed(study.run));
    if (is_recurrent ? study.test.empty() : study.data.empty()) {
      throw UserError(std::string(is_recurrent ? "--test SOURCE TARGET" : "--data") + " is missing",
                      "attend heads --help lists the options");
    }
    if (study.prune == 1) {
      throw UserError(origins("prune") + ": 1, expected less, since one head of each layer stays", "write --prune 0.5");
    }
    if (study.prune > 0 && study.pruned_run.empty()) {
      throw UserError(origins("prune") + ": no directory for the pruned run", "add --pruned-run DIR");
    }
  }
};

// The heads to prune, which are also listed in `report`. Throws UserError if there are none.
std::vector<HeadPlace> heads_pruned(const HeadsOfRunConfig& config, HeadReport& report) {
  if (config.study.prune == 0) return {};
  const std::vector<HeadPlace> pruned =
      heads_to_prune(*report.silencing, config.study.prune, prunable_places(config.study.run));
  if (pruned.empty()) {
    throw UserError(
        fmt::format("--prune {}: no head of {} can be left out", config.study.prune, report.silencing->heads.size()),
        "raise it, or give a run with several heads in each layer");
  }
  for (const HeadPlace& head : pruned) report.pruned.push_back(to_text(head));
  return pruned;
}

void run(const HeadsOfRunConfig& config, const OptionOrigins& /*origins*/) {
  signals::install();
  at::set_num_threads(static_cast<int>(config.study.scoring.threads));
  if (config.study.prune > 0) refuse_existing(config.study.pruned_run, "--pruned-run");
  ReportDirectory directory(config.output);
  HeadReport report = study_heads(config.study);
  report.command = command_line("heads", config);
  const std::vector<HeadPlace> pruned = heads_pruned(config, report);
  directory.commit(section_report(report), report_json(report));
  for (const std::string& note : report.notes) log::warn("{}", note);
  log::info("{}: open index.html", config.output.directory);
  if (pruned.empty()) return;
  write_pruned_run(config.study.run, config.study.use.checkpoint, pruned, config.study.pruned_run);
  log::info("{}: without {}", config.study.pruned_run, counted(std::ssize(pruned), "head"));
}

}  // namespace

Command heads_command() {
  return make_command<HeadsOfRunConfig>("heads", "report what each attention head of a run does", run,
                                        "runs/transformer --test corpus/valid.en corpus/valid.de --output heads");
}

}  // namespace attend
