// attend heads: one report on what each attention head of a run does.
#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/heads.hpp"
#include "analysis/report/head_sections.hpp"
#include "analysis/report/json.hpp"
#include "cli/command.hpp"
#include "cli/model_options.hpp"
#include "cli/report_directory.hpp"
#include "core/command_line.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/number.hpp"
#include "core/signals.hpp"
#include "eval/score.hpp"
#include "models/run/run.hpp"
#include "models/run/text_run.hpp"

namespace attend {
namespace {

struct HeadsOfRunConfig {
  std::string run;
  std::string data;
  ReportOutput output;
  std::vector<std::string> test;
  std::int64_t sentences = 500;
  ModelOptions use;
  ScoreConfig score;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Heads");
    visit("run", self.run,
          {.help = "run of a Transformer by attend train, of attend pretrain, or of a BERT by attend finetune",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("data", self.data,
          {.help = "sentences with dependency trees in the format CoNLL-U, plain or .gz, in the language that the "
                   "encoder or the language model reads",
           .placeholder = "FILE",
           .required = true});
    ReportOutput::visit(self.output, visit);
    visit("test", self.test,
          {.help = "source sentences and their translations, whose loss is measured with each head of a translation "
                   "run silenced; none: its heads are not silenced",
           .placeholder = "FILE"});
    visit("sentences", self.sentences,
          {.help = "sentences of --data, or of --test, that are read with each head silenced, at most", .min = 1});
    ModelOptions::visit(self.use, visit);
    ScoreConfig::visit(self.score, visit);
  }

  void validate(const OptionOrigins& origins) const {
    if (!test.empty() && test.size() != 2) {
      throw UserError(fmt::format("{}: {}, expected 2", origins("test"), counted(std::ssize(test), "file")),
                      "write --test SOURCE TARGET");
    }
  }
};

void run(const HeadsOfRunConfig& config, const OptionOrigins& origins) {
  signals::install();
  at::set_num_threads(static_cast<int>(config.score.threads));
  const RunKind kind = kind_of_run(run_of_best_seed(config.run));
  if (kind != RunKind::train) refuse_given("test", origins, "for " + config.run + ", which does not translate");
  for (const char* option : {"sentences", "batch-size", "workers"}) {  // of silencing
    if (kind == RunKind::train && config.test.empty()) refuse_given(option, origins, "without --test");
    if (kind == RunKind::finetune) {
      refuse_given(option, origins, "for a fine-tuned run, whose heads are not silenced");
    }
  }
  ReportDirectory directory(config.output);
  HeadReport report = study_heads({.run = config.run,
                                   .data = config.data,
                                   .test = config.test,
                                   .sentences = config.sentences,
                                   .checkpoint = config.use.checkpoint,
                                   .precision = config.use.precision,
                                   .device = config.use.device,
                                   .scoring = config.score});
  report.command = command_line("heads", config);
  directory.commit(head_page(report), head_markdown(report), report_json(report));
  for (const std::string& note : report.notes) log::warn("{}", note);
  log::info("{}: open index.html", config.output.directory);
}

}  // namespace

Command heads_command() {
  return make_command<HeadsOfRunConfig>("heads", "report what each attention head of a run does", run);
}

}  // namespace attend
