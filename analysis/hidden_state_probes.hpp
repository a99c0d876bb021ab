// The measurements of `attend probe`: linear and structural probes of every layer of a model, and of the same model
// with the random weights of each seed. docs/probes.md defines each number.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/report/probe_sections.hpp"
#include "analysis/sentence_model.hpp"
#include "models/run/model_options.hpp"

namespace attend {

struct ProbingConfig {
  std::string run;
  std::string data;
  std::int64_t sentences = 2000;
  std::int64_t seeds = 3;
  ModelOptions use = {.precision = Precision::fp32};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "run of attend train, pretrain or finetune",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("data", self.data,
          {.help = "sentences with trees in CoNLL-U, in the language that the model reads",
           .placeholder = "FILE",
           .required = true});
    visit("sentences", self.sentences,
          {.help = "maximum number of sentences, from the beginning of --data; the first 80 % train the probes, the "
                   "last 20 % test them",
           .min = 10,
           .max = 1e6});
    visit("seeds", self.seeds,
          {.help = "number of trainings of each probe, and of models with random weights; the report has means and "
                   "standard deviations",
           .min = 1,
           .max = 100});
    ModelOptions::visit(self.use, visit);
  }
};

// `command` of the result is left empty. Throws UserError naming the option or file, among others if the model reads
// fewer than 10 of the sentences. Interrupted after SIGINT or SIGTERM.
Probing probe_hidden_states(const ProbingConfig& config);
// The same for `model` in place of that of `run`; `checkpoint` is left empty, too. Leaves random weights in the model.
Probing probe_hidden_states(const ProbingConfig& config, const SentenceModel& model);

}  // namespace attend
