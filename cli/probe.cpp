// attend probe: what the hidden states of every layer of a model tell about words and trees, as a report.
#include <ATen/Parallel.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "analysis/hidden_state_probes.hpp"
#include "cli/command.hpp"
#include "core/command_line.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "eval/workers.hpp"

namespace attend {
namespace {

struct ProbeCommandConfig {
  ProbingConfig probing;
  std::string output;
  bool overwrite = false;
  std::optional<std::int64_t> threads;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Probes");
    ProbingConfig::visit(self.probing, visit);
    visit("output", self.output,
          {.help = "new directory for index.html, report.md and report.json", .placeholder = "DIR", .required = true});
    visit("overwrite", self.overwrite, {.help = "replace these three files if the directory exists"});
    visit("threads", self.threads, {.help = "threads; auto: one per processor", .min = 1, .max = 1024});
  }
};

void run(const ProbeCommandConfig& config, const OptionOrigins& /*origins*/) {
  signals::install();
  at::set_num_threads(static_cast<int>(num_workers(config.threads)));
  const bool exists = std::filesystem::exists(config.output);
  if (!config.overwrite) refuse_existing(config.output, "--output, or pass --overwrite");
  if (exists && !std::filesystem::is_directory(config.output)) {
    throw UserError("--output " + config.output + ": not a directory", "name a directory");
  }
  // Created before the work, so that an unwritable path is reported at once; removed if the work fails.
  const NewDirectories parents(std::filesystem::absolute(config.output + "/").parent_path().parent_path());
  std::optional<StagedDirectory> report;
  if (!exists) report.emplace(config.output);
  Probing probing = probe_hidden_states(config.probing);
  probing.command = command_line("probe", config);
  const std::filesystem::path directory = report ? report->path() : std::filesystem::path(config.output);
  write_file_atomic(directory / "index.html", probing_page(probing));
  write_file_atomic(directory / "report.md", probing_markdown(probing));
  write_file_atomic(directory / "report.json", probing_json(probing));
  if (report) report->commit();
  for (const std::string& note : probing.not_measured) log::warn("{}", note);
  log::info("{}: open index.html", config.output);
}

}  // namespace

Command probe_command() {
  return make_command<ProbeCommandConfig>("probe", "probe the hidden states of every layer for words' labels and trees",
                                          run);
}

}  // namespace attend
