// The measurements of `attend compare`: of translation runs, language models and encoders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "core/options.hpp"
#include "data/text/word_alignment.hpp"
#include "eval/metrics/translation_metrics.hpp"
#include "eval/translate.hpp"
#include "models/ops/weight.hpp"

namespace attend {

// What is compared, on which options depend.
inline constexpr Fact kComparisonsOf{"comparisons of"};
inline constexpr std::string_view kTranslationRuns = "translation runs", kLanguageModels = "language models",
                                  kGivenTranslations = "given translations", kTunedRuns = "fine-tuned runs",
                                  kGivenPredictions = "given predictions", kPretrainedEncoders = "pretrained encoders";

struct CompareConfig {
  std::vector<std::string> runs;
  std::vector<std::string> names;
  std::vector<std::string> test;
  std::string task;
  std::vector<std::string> hypothesis;
  std::vector<std::string> search;
  std::vector<std::string> scores;
  std::vector<std::string> lower_is_better;
  std::vector<std::string> train;
  std::vector<std::string> contrast;
  GoldConfig gold;
  bool probe = false;
  bool all_attention = false;
  std::string checkpoint = "auto";
  Precision precision = Precision::fp32;
  std::string device = "auto";
  metrics::MetricChoice metrics = {};
  TranslatorConfig translator = {.search = {.beam = 5}};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    constexpr Condition kOfRuns = {kComparisonsOf,
                                   {kTranslationRuns, kLanguageModels, kTunedRuns, kPretrainedEncoders}};
    constexpr Condition kOfDecoders = {kComparisonsOf, {kTranslationRuns, kLanguageModels}};
    constexpr Condition kOfOutputs = {kComparisonsOf,
                                      {kTranslationRuns, kGivenTranslations, kTunedRuns, kGivenPredictions}};
    constexpr Condition kOfGivenPredictions = {kComparisonsOf, {kGivenPredictions}};
    constexpr Condition kOfTranslations = {kComparisonsOf, {kTranslationRuns, kGivenTranslations}};
    constexpr Condition kOfTranslationRuns = {kComparisonsOf, {kTranslationRuns}};
    visit("runs", self.runs,
          {.help = "runs of attend train, of attend finetune, or of attend pretrain; runs that differ only in their "
                   "seeds are one system, and a run of several seeds stands for all",
           .placeholder = "RUN",
           .positional = true});
    visit("names", self.names,
          {.help = "names of the trained systems in the report, in the order of their first runs; none: the names of "
                   "their directories",
           .placeholder = "NAME",
           .common = true,
           .only = kOfRuns});
    visit("test", self.test,
          {.help = "source sentences and their reference translations; of language models and pretrained encoders, "
                   "documents as in their training text; of fine-tuned runs, a labelled file of their task",
           .file = FileUse::read,
           .required = true});
    visit("task", self.task,
          {.help = "with --hypothesis, and without runs: the task that was predicted, by its name or a TOML file as in "
                   "attend finetune; none: translation",
           .placeholder = "NAME|FILE",
           .only = kOfGivenPredictions});
    visit("hypothesis", self.hypothesis,
          {.help = "name and outputs of a system without a model: translations or labels, one per line, or answers or "
                   "tags as attend predict writes them; repeatable, with or without runs; measures that need a model "
                   "are left out",
           .placeholder = "NAME=FILE",
           .file = FileUse::read,
           .common = true,
           .only = kOfOutputs});
    visit("search", self.search,
          {.help = "another search of the first run, by the options that differ, as a system: \"greedy = --beam 1\"; "
                   "repeatable; measures that need a model are left out",
           .placeholder = "NAME = OPTIONS",
           .common = true,
           .only = kOfTranslationRuns});
    visit("scores", self.scores,
          {.help = "name and scores of a metric that attend lacks, or of people, such as COMET=scores.txt: a line for "
                   "each sentence with a number for each run, each --hypothesis and each --search; repeatable",
           .placeholder = "NAME=FILE",
           .file = FileUse::read,
           .only = kOfTranslations});
    visit("lower-is-better", self.lower_is_better,
          {.help = "names of --scores of which a lower one is better", .placeholder = "NAME", .only = {"scores"}});
    visit("train", self.train,
          {.help = "training text, whose last file, the target side, gives the frequencies of words; of language "
                   "models, all files; of fine-tuned runs, labelled files; none: the training text of the first run",
           .file = FileUse::read});
    visit(
        "contrast", self.contrast,
        {.help = "files of minimal pairs, as attend score reads them: how often each model finds the better text more "
                 "probable, by kind and distance",
         .file = FileUse::read,
         .only = kOfDecoders});
    visit.group("Report", kOfTranslations);
    GoldConfig::visit(self.gold, visit);
    metrics::MetricChoice::visit(self.metrics, visit);
    visit("probe", self.probe,
          {.help = "also measure the reach of gradients, and the time of updates by length and threads (section 7)"});
    visit.group("Report", kOfTranslationRuns);
    visit("all-attention", self.all_attention,
          {.help = "keep the attention of all sentences in report.json; default: only of the first sentences, as in "
                   "index.html"});
    visit.group("Report", kOfRuns);
    visit("checkpoint", self.checkpoint,
          {.help =
               "best, last, step-N, or, with a single run, the path of one of its checkpoints; auto: best, or another "
               "one, with a warning, if that is damaged",
           .placeholder = "auto|best|last|step-N|PATH",
           .common = true});
    visit("precision", self.precision, {.help = "precision of matrix products"});
    visit("device", self.device, {.help = "auto, cpu, cuda or cuda:N", .placeholder = "NAME", .common = true});
    ComparedSearch<Visitor> compared{visit, self.translator, kOfTranslationRuns, kOfRuns};
    TranslatorConfig::visit(self.translator, compared);
  }

  // Visits the options of translation but those of the ranking of hypotheses: beams of several sizes are judged by
  // log p / length^alpha. Language models read only the number of threads.
  template <class Visitor>
  struct ComparedSearch {
    Visitor& visit;
    const TranslatorConfig& translator;
    Condition of_search, of_threads;

    void group(std::string_view title) { visit.group(title, of_search); }
    template <class T>
    void operator()(std::string_view name, T& value, const Option& traits) {
      const SearchConfig& ranking = translator.search;
      const auto is = [&](const auto& member) { return static_cast<const void*>(&member) == &value; };
      if (is(ranking.length_penalty_kind) || is(ranking.coverage_penalty) || is(ranking.diverse_groups) ||
          is(ranking.diversity)) {
        return;
      }
      if (is(translator.threads)) visit.group("Speed", of_threads);
      visit(name, value, traits);
    }
  };

  // Reads the runs. UserError if there is nothing to compare, or they are of several kinds.
  Facts facts() const;
  // UserError for contradictory options.
  void validate(const OptionOrigins& origins) const;
};

// What the runs and --hypothesis are, one of the names above. UserError for runs of several kinds.
std::string_view kind_of_comparison(const CompareConfig& config);

// Interrupted after SIGINT or SIGTERM.
void refuse_if_stopped();

// Each throws UserError for runs or texts that cannot be compared. Interrupted after SIGINT or SIGTERM.

// Runs of `attend train`, other searches and given translations, on one test set.
Comparison compare(const CompareConfig& config);

// Runs of `attend pretrain --objective causal` on the documents of a test text.
LanguageComparison compare_language(const CompareConfig& config);

// Runs of `attend finetune` and predictions of other programs, on the records of a task.
TaskComparison compare_tasks(const CompareConfig& config);

// Other runs of `attend pretrain`, on a text: the held-out loss and accuracy of the same masked tokens, the masks of
// the BERT paper, in sequences of the same length; with --objective permuted, of tokens in the same orders. UserError
// for runs of different vocabularies or objectives.
TaskComparison compare_masked(const CompareConfig& config);

}  // namespace attend
