// The measurements of `attend faithfulness`: whether the weights of attention explain what a model predicts (Jain and
// Wallace 2019, arXiv 1902.10186; Wiegreffe and Pinter 2019, 1908.04626). docs/faithfulness.md defines each number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/faithfulness_sections.hpp"
#include "models/run/model_options.hpp"

namespace attend {

struct FaithfulnessConfig {
  std::string run;
  std::string data;
  std::vector<std::string> test;
  std::int64_t sentences = 500;
  std::int64_t seed = 1;
  std::string checkpoint = "auto";
  std::string device = "auto";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "run of attend finetune that classifies texts by a BERT or with --pooling attention, or of attend "
                   "train with attention to the source",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit(
        "data", self.data,
        {.help = "labelled texts for a fine-tuned run, in a format that attend evaluate reads", .placeholder = "FILE"});
    visit("test", self.test,
          {.help = "source sentences and their translations, for a translation run", .placeholder = "FILE"});
    visit("sentences", self.sentences,
          {.help = "maximum number of texts or sentence pairs, from the beginning; adversarial weights are sought for "
                   "the first 100",
           .min = 1,
           .max = 1e6});
    visit("seed", self.seed, {.help = "seed of the permutations and of the search for adversarial weights", .min = 0});
    ModelOptions::visit_checkpoint(self.checkpoint, visit);
    visit("device", self.device, {.help = "auto, cpu, cuda or cuda:N", .placeholder = "NAME"});
  }
};

// `command` of the result is left empty. Throws UserError naming the option or file, among others for a run that
// predicts neither the class of a text nor a translation, or lacks the attention that would explain it. Interrupted
// after SIGINT or SIGTERM.
Faithfulness measure_faithfulness(const FaithfulnessConfig& config);

}  // namespace attend
