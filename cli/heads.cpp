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
    ScoreConfig::visit(self.study.scoring, visit);
  }

  void validate(const OptionOrigins& origins) const {
    refuse_inapplicable(*this, given_place(origins));
    if (!study.test.empty()) check_two_files("test", study.test, origins);
    if (study.prune == 1) {
      throw UserError(origins("prune") + ": 1, expected less, since one head of each layer stays", "write --prune 0.5");
    }
    if (study.prune > 0 && study.pruned_run.empty()) {
      throw UserError(origins("prune") + ": no directory for the pruned run", "add --pruned-run DIR");
    }
  }
};

// Throws UserError if an option that this kind of run needs is missing, or a given one does not apply to it.
void check_use(const HeadStudy& study, const OptionOrigins& origins) {
  check_attends(study.run);
  const std::filesystem::path path = run_of_best_seed(study.run);
  const RunKind kind = kind_of_run(path);
  const std::string of_run = "for " + study.run + ", ";
  const auto need = [](const std::string& value, const std::string& option) {
    if (value.empty()) throw UserError(option + " is missing", "attend heads --help lists the options");
  };
  if (translates_recurrently(path)) {
    refuse_given("data", origins, of_run + "whose attention is recurrent: other weights replace it (--test)");
    refuse_given("bleu", origins, of_run + "whose attention is recurrent: BLEU is measured without it");
    refuse_any_given({"prune", "pruned-run"}, origins, of_run + "which has one head");
    need(study.test.empty() ? "" : study.test[0], "--test SOURCE TARGET");
    return;
  }
  need(study.data, "--data");
  refuse_given("alignment", origins, of_run + "whose attention is not recurrent");
  if (kind != RunKind::train) refuse_any_given({"test", "bleu"}, origins, of_run + "which does not translate");
  if (study.test.empty()) refuse_given("bleu", origins, "without --test");
  const auto of_silencing = {"sentences", "prune", "pruned-run", "batch-size", "workers"};
  if (kind == RunKind::train && study.test.empty()) refuse_any_given(of_silencing, origins, "without --test");
  if (kind == RunKind::finetune) {
    refuse_any_given(of_silencing, origins, "for a fine-tuned run, whose heads are not silenced");
  }
}

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

void run(const HeadsOfRunConfig& config, const OptionOrigins& origins) {
  signals::install();
  at::set_num_threads(static_cast<int>(config.study.scoring.threads));
  check_use(config.study, origins);
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
  return make_command<HeadsOfRunConfig>("heads", "report what each attention head of a run does", run);
}

}  // namespace attend
