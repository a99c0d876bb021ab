// The measurements of `attend heads`: what each head of a Transformer attends to in sentences with dependency trees,
// and how its loss rises without the head; for a recurrent translation model, how its loss rises with other weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/head_report.hpp"
#include "core/options.hpp"
#include "eval/score.hpp"
#include "models/run/device.hpp"
#include "models/run/kind.hpp"

namespace attend {

// What a report is about, on which options depend: the attention of the run, and what is done to it.
inline constexpr Fact kRunsWith{"runs with"}, kAttentionThatIs{"attention that is"};
inline constexpr std::string_view kHeads = "heads", kRecurrentAttention = "recurrent attention", kReplaced = "replaced",
                                  kSilenced = "silenced", kOnlyDescribed = "only described";

struct HeadStudy {
  std::string run;
  std::string data;
  std::vector<std::string> test;
  std::string alignment;
  bool bleu = false;
  std::int64_t sentences = 500;
  double prune = 0;  // the caller writes the pruned run
  std::string pruned_run;
  ModelOptions use;
  ScoreConfig scoring;  // the caller visits its options

  static constexpr Condition kOfChanged = {kAttentionThatIs, {kReplaced, kSilenced}};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "run of attend train or pretrain, or of a BERT by attend finetune",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("data", self.data,
          {.help = "sentences with dependency trees in CoNLL-U, plain or .gz, in the language that the encoder or the "
                   "language model reads; needed unless the run translates with recurrent attention",
           .file = FileUse::read,
           .only = {kRunsWith, {kHeads}}});
    visit("test", self.test,
          {.help = "source sentences and their translations, for a translation run: their loss is measured with each "
                   "head silenced, or with other weights in place of recurrent attention; none: not measured",
           .file = FileUse::read,
           .only = {kRunsOfAttend, {"train"}}});
    visit("alignment", self.alignment,
          {.help = "links between the words of each pair of --test, such as 0-0 1-2, whose weights also replace "
                   "recurrent attention",
           .file = FileUse::read,
           .only = {kRunsWith, {kRecurrentAttention}}});
    visit.group("Heads", {kRunsWith, {kHeads}});
    visit("bleu", self.bleu,
          {.help = "also measure the BLEU of greedy translations without each head of a Transformer: --test is "
                   "translated once for each head",
           .only = {"test"}});
    visit.group("Heads");
    visit("sentences", self.sentences,
          {.help = "maximum number of sentences of --data, or of --test, over which the loss with changed attention is "
                   "measured",
           .min = 1,
           .only = kOfChanged});
    visit("prune", self.prune,
          {.help = "write --pruned-run without this share of the heads, less than 1, the least important first; the "
                   "most important head of each layer stays; 0: write none",
           .min = 0,
           .max = 1,
           .only = {kAttentionThatIs, {kSilenced}}});
    visit("pruned-run", self.pruned_run,
          {.help = "directory of the run without these heads, whose matrices are smaller",
           .placeholder = "DIR",
           .only = {"prune"}});
    ModelOptions::visit(self.use, visit);
  }
};

// Throws UserError for a run whose options leave its model without attention; and as in kind_of_run.
void check_attends(const std::string& run);

// True for a translation run whose recurrent decoder attends: it has no heads to describe, but its attention can be
// replaced. UserError as in kind_of_run.
bool translates_recurrently(const std::filesystem::path& run);

// `command` of the result is left empty. The self-attention is that of the encoder of a translation run, of a BERT, or
// of a causal Transformer. The loss of silenced heads is that of masked pieces (BERT), of all pieces (language model),
// or of the translations in `test`; heads are not silenced without these, or in a BERT without a head for masked
// pieces. For a recurrent translation run, only `test` is read. The caller has checked the run (check_attends).
// UserError for a run that cannot be pruned although a share is given, whose encoder has no weights, or whose tokenizer
// knows no word of the data; for data without a relation between words that the model sees; and as in read_word_links.
// Interrupted after SIGINT or SIGTERM.
HeadReport study_heads(const HeadStudy& study);

}  // namespace attend
