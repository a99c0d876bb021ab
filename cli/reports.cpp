// attend compare, heads, probe and faithfulness: reports on runs, each in a directory with index.html, report.md and
// report.json.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/compare.hpp"
#include "analysis/faithfulness.hpp"
#include "analysis/heads.hpp"
#include "analysis/hidden_state_probes.hpp"
#include "analysis/report/json.hpp"
#include "analysis/report/page.hpp"
#include "analysis/report/sections.hpp"
#include "analysis/silencing.hpp"
#include "cli/command.hpp"
#include "cli/shell.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "eval/score.hpp"
#include "eval/workers.hpp"
#include "models/run/kind.hpp"
#include "models/run/new_run.hpp"

namespace attend {
namespace {

struct ReportOutput {
  std::string directory;
  bool overwrite = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("output", self.directory,
          {.help = "new directory for index.html, report.md and report.json", .placeholder = "DIR", .required = true});
    visit("overwrite", self.overwrite, {.help = "replace the report in --output", .common = true});
  }
};

// Whether an earlier report is to be replaced. UserError if the directory exists and is not such a report.
bool replaces_report(const ReportOutput& output) {
  if (!output.overwrite || !std::filesystem::exists(output.directory)) {
    refuse_existing(output.directory, "--output, or pass --overwrite");
    return false;
  }
  if (!std::filesystem::exists(std::filesystem::path(output.directory) / "report.json")) {
    throw UserError("--overwrite: " + output.directory + " is not a report",
                    "give another --output, or delete it yourself");
  }
  for (const auto& entry : std::filesystem::directory_iterator(output.directory)) {
    const std::string name = entry.path().filename().string();
    if (name == "index.html" || name == "report.md" || name == "report.json") continue;
    throw UserError("--overwrite: " + entry.path().string() + " is not part of a report",
                    "give another --output, or move it elsewhere");
  }
  return true;
}

// Measures what a report of `attend COMMAND` shows, and writes it. The directory is created before the work, so that an
// unwritable path is reported at once, and removed if the work fails.
template <class Config, class Measure>
auto write_report(std::string_view command, const Config& config, const Measure& measure) {
  const std::string& output = config.output.directory;
  const bool replaces = replaces_report(config.output);
  const NewDirectories parents(std::filesystem::absolute(output + "/").parent_path().parent_path());
  StagedDirectory staged(output);
  auto report = measure();
  report.command = command_line(command, config);
  const SectionReport shown = section_report(report);
  write_file_atomic(staged.path() / "index.html", report_page(shown));
  write_file_atomic(staged.path() / "report.md", report_markdown(shown));
  write_file_atomic(staged.path() / "report.json", report_json(report));
  if (replaces) std::filesystem::remove_all(output);
  staged.commit();
  return report;
}

struct ComparisonReport {
  CompareConfig compare;
  ReportOutput output;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Report");
    ReportOutput::visit(self.output, visit);
    CompareConfig::visit(self.compare, visit);
  }
  Facts facts() const { return compare.facts(); }
  void validate(const OptionOrigins& origins) const { compare.validate(origins); }
};

// Names the parts that are missing from the report; empty if it is complete.
std::string left_out(const Comparison& comparison) {
  if (comparison.attention_left_out == 0) return {};
  return fmt::format(", without the attention of {} of {} sentences", comparison.attention_left_out,
                     comparison.sentences.size());
}
std::string left_out(const ComparedSystems& /*comparison*/) { return {}; }

template <class SomeComparison>
void compare_by(SomeComparison (*compare_runs)(const CompareConfig&), const ComparisonReport& config) {
  const auto start = std::chrono::steady_clock::now();
  const SomeComparison comparison = write_report("compare", config, [&] { return compare_runs(config.compare); });
  for (const std::string& note : comparison.notes) log::warn("{}", note);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const auto megabytes = [&](const char* file) {
    const std::filesystem::path path = std::filesystem::path(config.output.directory) / file;
    return static_cast<double>(std::filesystem::file_size(path)) * 1e-6;
  };
  log::info("{}: open index.html ({:.1f} MB; report.json {:.1f} MB{}; compared in {:.0f} s)", config.output.directory,
            megabytes("index.html"), megabytes("report.json"), left_out(comparison), taken.count());
}

void report_comparison(const ComparisonReport& config, const OptionOrigins& origins) {
  std::ranges::for_each(config.compare.train, check_readable);
  const std::string_view kind = kind_of_comparison(config.compare);
  const bool by_workers = kind == kTranslationRuns || kind == kGivenTranslations;  // others are read by one
  const std::int64_t threads =
      by_workers || origins.given("threads") ? config.compare.translator.threads : num_workers(std::nullopt);
  begin_work(threads);
  if (by_workers) return compare_by(compare, config);
  if (kind == kLanguageModels) return compare_by(compare_language, config);
  compare_by(kind == kPretrainedEncoders ? compare_masked : compare_tasks, config);
}

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
  begin_work(config.study.scoring.threads);
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

// A report of what `Measured` finds in a run.
template <class Measured>
struct MeasuredReport {
  Measured measured;
  ReportOutput output;
  std::optional<std::int64_t> threads;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group(Self::kGroup);
    Measured::visit(self.measured, visit);
    ReportOutput::visit(self.output, visit);
    visit("threads", self.threads, {.help = "threads; auto: one per processor", .min = 1, .max = 1024});
  }
};

struct ProbeCommandConfig : MeasuredReport<ProbingConfig> {
  static constexpr std::string_view kGroup = "Probes";
};

void report_probes(const ProbeCommandConfig& config, const OptionOrigins& /*origins*/) {
  begin_work(num_workers(config.threads));
  const Probing probing = write_report("probe", config, [&] { return probe_hidden_states(config.measured); });
  for (const std::string& note : probing.not_measured) log::warn("{}", note);
  log::info("{}: open index.html", config.output.directory);
}

struct FaithfulnessCommandConfig : MeasuredReport<FaithfulnessConfig> {
  static constexpr std::string_view kGroup = "Faithfulness";

  // Reads the record of the run.
  Facts facts() const { return {{kRunsOfAttend, trained_by(measured.run)}}; }

  void validate(const OptionOrigins& origins) const {
    if (!measured.test.empty()) check_two_files("test", measured.test, origins);
  }
};

void report_faithfulness(const FaithfulnessCommandConfig& config, const OptionOrigins& /*origins*/) {
  begin_work(num_workers(config.threads));
  write_report("faithfulness", config, [&] { return measure_faithfulness(config.measured); });
  log::info("{}: open index.html", config.output.directory);
}

}  // namespace

Command compare_command() {
  return make_command<ComparisonReport>(
      "compare", "compare runs on a test set and write an HTML report", report_comparison,
      "runs/rnn runs/transformer --test corpus/test.en corpus/test.de --output report");
}

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
