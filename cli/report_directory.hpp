// The directory of a report: index.html, report.md and report.json.
#pragma once

#include <filesystem>
#include <string>

#include "analysis/report/page.hpp"
#include "analysis/report/sections.hpp"
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

class ReportDirectory {
 public:
  // Created before the work, so that an unwritable path is reported at once; removed if the work fails. Throws
  // UserError if the directory exists, unless it is a report that may be replaced.
  explicit ReportDirectory(const ReportOutput& output)
      : output_(output.directory),
        replaces_(may_replace(output)),
        parents_(parent_of(output.directory)),
        staged_(output.directory) {}

  // Writes the files, then replaces an earlier report.
  void commit(const SectionReport& report, const std::string& json) {
    write_file_atomic(staged_.path() / "index.html", report_page(report));
    write_file_atomic(staged_.path() / "report.md", report_markdown(report));
    write_file_atomic(staged_.path() / "report.json", json);
    if (replaces_) std::filesystem::remove_all(output_);
    staged_.commit();
  }

 private:
  static bool may_replace(const ReportOutput& output) {
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
  static std::filesystem::path parent_of(const std::string& output) {
    return std::filesystem::absolute(output + "/").parent_path().parent_path();
  }

  std::filesystem::path output_;
  bool replaces_;
  NewDirectories parents_;
  StagedDirectory staged_;
};

}  // namespace attend
