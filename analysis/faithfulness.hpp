// The measurements of `attend faithfulness`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/faithfulness_sections.hpp"
#include "analysis/report/head_report.hpp"
#include "analysis/silencing.hpp"
#include "data/text/word_alignment.hpp"
#include "eval/score.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"

namespace attend {

// What translation loses if attention is edited: the loss of given translations, and the BLEU of the model's own, which
// are greedy (beam 1) to save time and scored as in `attend evaluate`. docs/heads.md defines the numbers.

// Sentences and their given translations, parallel.
struct GivenTranslations {
  std::vector<std::string> sources;
  std::vector<std::string> targets;
  std::vector<std::vector<Link>> links = {};  // between the words of each pair, or empty
};

// The loss with uniform and diagonal weights and, if there are links, those of the given alignment in place of the
// run's attention to the source (models/attention/edits.hpp), and the BLEU with uniform and diagonal ones.
// Changes are tested by the paired bootstrap over sentences, corrected for all weights. Names of files are left empty.
// Interrupted after SIGINT or SIGTERM.
Replacement replace_attention(const TranslationRun& run, const GivenTranslations& given, const ScoreConfig& scoring);

// Adds the BLEU of the run, and its change without each of `heads`, which are those of `silencing`.
void add_bleu(Silencing& silencing, std::span<const HeadGradient> heads, const TranslationRun& run,
              const GivenTranslations& given, const ScoreConfig& scoring);

// The measurements of `attend faithfulness`: whether the weights of attention explain what a model predicts (Jain and
// Wallace 2019, arXiv 1902.10186; Wiegreffe and Pinter 2019, 1908.04626). docs/faithfulness.md defines each number.

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
    visit("data", self.data,
          {.help = "labelled texts for a fine-tuned run, in a format that attend evaluate reads",
           .file = FileUse::read,
           .only = {kRunsOfAttend, {"finetune"}}});
    visit("test", self.test,
          {.help = "source sentences and their translations, for a translation run",
           .file = FileUse::read,
           .only = {kRunsOfAttend, {"train"}}});
    visit("sentences", self.sentences,
          {.help = "maximum number of texts or sentence pairs, from the beginning; adversarial weights are sought for "
                   "the first 100",
           .min = 1,
           .max = 1e6});
    visit("seed", self.seed,
          {.help = "seed of the permutations and of the search for adversarial weights",
           .min = 0,
           .only = {kRunsOfAttend, {"finetune"}}});
    ModelOptions::visit_checkpoint(self.checkpoint, visit);
    visit("device", self.device, {.help = "auto, cpu, cuda or cuda:N", .placeholder = "NAME"});
  }
};

// `command` of the result is left empty. Throws UserError naming the option or file, among others for a run that
// predicts neither the class of a text nor a translation, or lacks the attention that would explain it. Interrupted
// after SIGINT or SIGTERM.
Faithfulness measure_faithfulness(const FaithfulnessConfig& config);

}  // namespace attend
