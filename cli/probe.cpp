// attend probe: reports what probes find in the hidden states of every layer of a model about words and trees.
#include <ATen/Parallel.h>

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/hidden_state_probes.hpp"
#include "analysis/report/json.hpp"
#include "cli/command.hpp"
#include "cli/report_directory.hpp"
#include "core/command_line.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "eval/workers.hpp"

namespace attend {
namespace {

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

void run(const ProbeCommandConfig& config, const OptionOrigins& /*origins*/) {
  signals::install();
  at::set_num_threads(static_cast<int>(num_workers(config.threads)));
  ReportDirectory directory(config.output);
  Probing probing = probe_hidden_states(config.probing);
  probing.command = command_line("probe", config);
  directory.commit(section_report(probing), report_json(probing));
  for (const std::string& note : probing.not_measured) log::warn("{}", note);
  log::info("{}: open index.html", config.output.directory);
}

}  // namespace

Command probe_command() {
  return make_command<ProbeCommandConfig>("probe", "probe the hidden states of every layer for words' labels and trees",
                                          run, "runs/tiny --data corpus/trees.valid.en.conllu --output probes");
}

}  // namespace attend
