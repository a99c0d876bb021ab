// The directory of a report: index.html, report.md and report.json.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "analysis/report/json.hpp"
#include "analysis/report/page.hpp"
#include "analysis/report/sections.hpp"
#include "cli/shell.hpp"
#include "core/error.hpp"
#include "core/files.hpp"

namespace attend {

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
inline bool replaces_report(const ReportOutput& output) {
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

}  // namespace attend
