// The directory of a report: index.html, report.md and report.json.
#pragma once

#include <filesystem>
#include <string>

#include "core/error.hpp"
#include "core/files.hpp"

namespace attend {

class ReportDirectory {
 public:
  // Made before the work, so that an unwritable path is reported at once; removed if the work fails. Throws UserError
  // if `output` exists, unless it is a report that may be replaced.
  explicit ReportDirectory(const std::string& output, bool overwrite = false)
      : output_(output), replaces_(may_replace(output, overwrite)), parents_(parent_of(output)), staged_(output) {}

  // Writes the files; an earlier report gives way at the end.
  void commit(const std::string& page, const std::string& markdown, const std::string& json) {
    write_file_atomic(staged_.path() / "index.html", page);
    write_file_atomic(staged_.path() / "report.md", markdown);
    write_file_atomic(staged_.path() / "report.json", json);
    if (replaces_) std::filesystem::remove_all(output_);
    staged_.commit();
  }

 private:
  static bool may_replace(const std::string& output, bool overwrite) {
    if (!overwrite || !std::filesystem::exists(output)) {
      refuse_existing(output, "--output");
      return false;
    }
    if (std::filesystem::exists(std::filesystem::path(output) / "report.json")) return true;
    throw UserError("--overwrite: " + output + " is not a report", "give another --output, or delete it yourself");
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
