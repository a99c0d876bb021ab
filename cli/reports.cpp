// attend heads, probe and faithfulness: reports on one run.
#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "analysis/faithfulness.hpp"
#include "analysis/heads.hpp"
#include "analysis/hidden_state_probes.hpp"
#include "analysis/silencing.hpp"
#include "cli/command.hpp"
#include "cli/report_directory.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "eval/score.hpp"
#include "eval/workers.hpp"
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

void report_heads(const HeadsOfRunConfig& config, const OptionOrigins& /*origins*/) {
  signals::install();
  at::set_num_threads(static_cast<int>(config.study.scoring.threads));
  if (config.study.prune > 0) refuse_existing(config.study.pruned_run, "--pruned-run");
  std::vector<HeadPlace> pruned;
  const HeadReport report = write_report("heads", config, [&] {
    HeadReport measured = study_heads(config.study);
    pruned = heads_pruned(config, measured);
    return measured;
  });
  for (const std::string& note : report.notes) log::warn("{}", note);
  log::info("{}: open index.html", config.output.directory);
  if (pruned.empty()) return;
  write_pruned_run(config.study.run, config.study.use.checkpoint, pruned, config.study.pruned_run);
  log::info("{}: without {}", config.study.pruned_run, counted(std::ssize(pruned), "head"));
}

struct ProbeCommandConfig {
  ProbingConfig probing;
  ReportOutput output;
  std::optional<std::int64_t> threads;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Probes");
    ProbingConfig::visit(self.probing, visit);
    ReportOutput::visit(self.output, visit);
    visit("threads", self.threads, {.help = "threads; auto: one per processor", .min = 1, .max = 1024});
  }
};

void report_probes(const ProbeCommandConfig& config, const OptionOrigins& /*origins*/) {
  signals::install();
  at::set_num_threads(static_cast<int>(num_workers(config.threads)));
  const Probing probing = write_report("probe", config, [&] { return probe_hidden_states(config.probing); });
  for (const std::string& note : probing.not_measured) log::warn("{}", note);
  log::info("{}: open index.html", config.output.directory);
}

struct FaithfulnessCommandConfig {
  FaithfulnessConfig measured;
  ReportOutput output;
  std::optional<std::int64_t> threads;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Faithfulness");
    FaithfulnessConfig::visit(self.measured, visit);
    ReportOutput::visit(self.output, visit);
    visit("threads", self.threads, {.help = "threads; auto: one per processor", .min = 1, .max = 1024});
  }

  // Reads the record of the run.
  Facts facts() const { return {{kRunsOfAttend, trained_by(measured.run)}}; }

  void validate(const OptionOrigins& origins) const {
    if (!measured.test.empty()) check_two_files("test", measured.test, origins);
  }
};

void report_faithfulness(const FaithfulnessCommandConfig& config, const OptionOrigins& /*origins*/) {
  signals::install();
  at::set_num_threads(static_cast<int>(num_workers(config.threads)));
  write_report("faithfulness", config, [&] { return measure_faithfulness(config.measured); });
  log::info("{}: open index.html", config.output.directory);
}

}  // namespace

Command heads_command() {
  return make_command<HeadsOfRunConfig>("heads", "report what each attention head of a run does", report_heads,
                                        "runs/transformer --test corpus/valid.en corpus/valid.de --output heads");
}

Command probe_command() {
  return make_command<ProbeCommandConfig>("probe", "probe the hidden states of every layer for words' labels and trees",
                                          report_probes,
                                          "runs/tiny --data corpus/trees.valid.en.conllu --output probes");
}

Command faithfulness_command() {
  return make_command<FaithfulnessCommandConfig>(
      "faithfulness", "report whether the weights of a run's attention explain its predictions", report_faithfulness,
      "runs/rnn --test corpus/valid.en corpus/valid.de --output faithfulness");
}

}  // namespace attend
