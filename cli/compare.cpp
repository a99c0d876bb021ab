// attend compare: one report on several translation runs, language models, or encoders, over one test set.
#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/compare.hpp"
#include "cli/command.hpp"
#include "cli/report_directory.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "data/text/lines.hpp"
#include "eval/workers.hpp"

namespace attend {
namespace {

struct ReportConfig {
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
void compare_by(SomeComparison (*compare_runs)(const CompareConfig&), const ReportConfig& config) {
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

void run(const ReportConfig& config, const OptionOrigins& origins) {
  signals::install();
  std::ranges::for_each(config.compare.train, check_readable);
  const std::string_view kind = kind_of_comparison(config.compare);
  const bool by_workers = kind == kTranslationRuns || kind == kGivenTranslations;  // others are read by one
  const std::int64_t threads =
      by_workers || origins.given("threads") ? config.compare.translator.threads : num_workers(std::nullopt);
  at::set_num_threads(static_cast<int>(threads));
  if (by_workers) return compare_by(compare, config);
  if (kind == kLanguageModels) return compare_by(compare_language, config);
  compare_by(kind == kPretrainedEncoders ? compare_masked : compare_tasks, config);
}

}  // namespace

Command compare_command() {
  return make_command<ReportConfig>("compare", "compare runs on a test set and write an HTML report", run,
                                    "runs/rnn runs/transformer --test corpus/test.en corpus/test.de --output report");
}

}  // namespace attend
