// attend faithfulness: reports whether the attention weights of a run explain its predictions.
#include <ATen/Parallel.h>

#include <cstdint>
#include <optional>

#include "analysis/faithfulness.hpp"
#include "analysis/report/json.hpp"
#include "cli/command.hpp"
#include "cli/report_directory.hpp"
#include "core/command_line.hpp"
#include "core/conditions.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "eval/workers.hpp"
#include "models/run/kind.hpp"

namespace attend {
namespace {

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

void run(const FaithfulnessCommandConfig& config, const OptionOrigins& /*origins*/) {
  signals::install();
  at::set_num_threads(static_cast<int>(num_workers(config.threads)));
  ReportDirectory directory(config.output);
  Faithfulness faithfulness = measure_faithfulness(config.measured);
  faithfulness.command = command_line("faithfulness", config);
  directory.commit(section_report(faithfulness), report_json(faithfulness));
  log::info("{}: open index.html", config.output.directory);
}

}  // namespace

Command faithfulness_command() {
  return make_command<FaithfulnessCommandConfig>(
      "faithfulness", "report whether the weights of a run's attention explain its predictions", run,
      "runs/rnn --test corpus/valid.en corpus/valid.de --output faithfulness");
}

}  // namespace attend
