// attend evaluate: metrics of a file of translations or other texts; the alignment error rate of a file of word
// alignments; or the metrics of a fine-tuned run, or of a language model with a prompt, on a task.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/text/parallel.hpp"
#include "data/text/word_alignment.hpp"
#include "eval/answers/answers.hpp"
#include "eval/metrics/predictions.hpp"
#include "eval/metrics/translation_metrics.hpp"
#include "eval/prompt.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

// What is scored, on which options depend; each has a group of them.
constexpr Fact kScoresOf{"scores of"};
constexpr std::string_view kScoredRun = "a run", kScoredTranslations = "translations",
                           kScoredAlignments = "word alignments";

struct EvaluateConfig {
  std::string run;
  std::string data = ".";
  std::vector<std::string> valid;
  ModelOptions use;
  PromptConfig prompt = {};
  AnswerConfig answers = {};
  std::string hypothesis;
  std::vector<std::string> reference;
  bool json = false;
  metrics::TranslationMetrics metrics;
  std::string alignment;
  GoldConfig gold;
  std::string source;
  std::string target;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("A run", {kScoresOf, {kScoredRun}});
    visit("run", self.run,
          {.help =
               "run of attend finetune, or with --prompt of attend pretrain --objective causal or hybrid; without one, "
               "translations or alignments are scored",
           .placeholder = "DIR",
           .positional = true,
           .common = true});
    visit("data", self.data, {.help = "directory of the task's files", .placeholder = "DIR", .common = true});
    visit("valid", self.valid,
          {.help = "labelled files; none: the task's validation files, in --data", .file = FileUse::read});
    ModelOptions::visit(self.use, visit);
    PromptConfig::visit(self.prompt, visit);
    AnswerConfig::visit(self.answers, visit);

    visit.group("Translations", {kScoresOf, {kScoredTranslations}});
    visit("hypothesis", self.hypothesis,
          {.help = "translations, one per line; -: standard input", .file = FileUse::read, .common = true});
    visit("reference", self.reference,
          {.help = "reference translations, line by line; several files: several references per line",
           .file = FileUse::read,
           .common = true});
    metrics::TranslationMetrics::visit(self.metrics, visit);

    visit.group("Word alignments", {kScoresOf, {kScoredAlignments}});
    visit("alignment", self.alignment,
          {.help = "word alignments in the format of attend translate --alignment, one sentence pair per line: "
                   "SOURCE-TARGET, counted from 0",
           .file = FileUse::read,
           .common = true});
    GoldConfig::visit(self.gold, visit);
    visit("source", self.source,
          {.help = "source text of the alignments; links outside its sentences are refused", .file = FileUse::read});
    visit("target", self.target,
          {.help = "target text of the alignments; links outside its sentences are refused", .file = FileUse::read});

    visit.group("Output");
    visit("json", self.json, {.help = "print one JSON object with unrounded scores", .common = true});
  }

  bool scores_alignments() const { return run.empty() && !(alignment.empty() && gold.gold.empty()); }

  Facts facts() const {
    return {{kScoresOf,
             {std::string(!run.empty()          ? kScoredRun
                          : scores_alignments() ? kScoredAlignments
                                                : kScoredTranslations)}}};
  }

  void validate(const OptionOrigins& origins) const {
    if (run.empty() &&
        (scores_alignments() ? alignment.empty() || gold.gold.empty() : hypothesis.empty() || reference.empty())) {
      throw UserError("nothing to score: neither a run, nor --hypothesis with --reference, nor --alignment with --gold",
                      "attend evaluate RUN --data DIR, attend evaluate --hypothesis FILE --reference FILE, or attend "
                      "evaluate --alignment FILE --gold FILE");
    }
    metrics.validate(origins);
    if (!valid.empty() && prompt.shots == 0 && origins.given("data")) {
      throw UserError(origins("data") + ": --valid already names the files", "leave one of them out");
    }
  }
};

std::vector<std::string> read_lines(const std::string& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line); lines.push_back(line)) {
    if (reader.invalid() || reader.counts().nul > 0) {
      throw UserError(reader.place() + ": not a line of UTF-8 text",
                      "check that it is the right file; convert other encodings with iconv -f ENCODING -t UTF-8");
    }
  }
  if (lines.empty()) throw UserError(name_of_input(path) + ": empty", "check that it is the right file");
  return lines;
}

// Warns if text looks tokenised: scores are defined on plain text.
void warn_of_pieces(const std::string& name, const std::vector<std::string>& hypotheses) {
  const auto tokenized = std::ranges::count_if(hypotheses, [](const std::string& line) {
    return line.substr(0, line.find_last_not_of(" \t\r") + 1).ends_with(" .");
  });
  if (tokenized >= 100) {
    log::warn(
        "{}: {} lines end in \" .\": is the text tokenised? Scores of tokenised text are not comparable with published "
        "ones",
        name, tokenized);
  }
  const auto pieces = std::ranges::count_if(hypotheses, [](const std::string& line) {
    return line.find("@@ ") != std::string::npos || line.find("▁") != std::string::npos;
  });
  if (pieces > 0)
    log::warn("{}: \"@@ \" or \"▁\" in {}: is the text split into subword pieces?", name, counted(pieces, "line"));
}

// `read` reads a labelled file.
void evaluate_files(const EvaluateConfig& config, const LabelledTask& task,
                    const std::function<TaskSplit(const std::string&)>& read, const AnswerSplit& answer_all) {
  std::vector<std::string> files = config.valid;
  for (const std::string& name : config.valid.empty() ? task.valid : std::vector<std::string>()) {
    if (const auto file = find_file(config.data, name)) files.push_back(file->string());
  }
  std::ranges::for_each(files, check_readable);
  nlohmann::ordered_json results;
  for (const std::string& file : files) {
    const TaskSplit split = read(file);
    log::info("{}: {}", file, split.report());
    WorkProgress progress({.unit = "records", .total = split.size()});
    const std::unique_ptr<TaskAnswers> answers = answer_all(split, progress);
    progress.clear();
    nlohmann::ordered_json& result = results[file];
    for (const MetricValue& metric : score(*answers, /*with_intervals=*/true)) {
      result[metric.name] = {{"value", metric.value}, {"low", metric.interval->low}, {"high", metric.interval->high}};
      if (config.json) continue;
      std::cout << fmt::format("{}\t{}\t{:.2f}\t", file, metric.name, metric.value);
      std::cout << (std::isfinite(metric.interval->low)
                        ? fmt::format("{:.2f} to {:.2f}\n", metric.interval->low, metric.interval->high)
                        : "no interval\n");
    }
    if (const auto best = answers->best_null_threshold()) {
      result["best_f1"] = {{"value", best->mean}, {"null_threshold", best->threshold}};
      if (!config.json)
        std::cout << fmt::format("{}\tbest_f1\t{:.2f}\twith --null-threshold {}\n", file, best->mean, best->threshold);
    }
  }
  if (config.json) std::cout << results.dump(2) << '\n';
}

void evaluate_task(EvaluateConfig config, const OptionOrigins& origins) {
  signals::install();
  if (config.prompt.is_given()) {
    refuse_inapplicable(config, given_place(origins), facts_of(TaskKind::classification));
    const PromptedRun run(config.run, config.use, config.prompt, config.data);
    return evaluate_files(
        config, run.task(), [&](const std::string& file) { return read_texts(file, run.task(), Labelled::yes); },
        [&](const TaskSplit& split, WorkProgress& progress) { return run.answer(split, progress); });
  }
  const auto trained = load_run_as<TextRun>(config.run, config.use);
  refuse_inapplicable(config, given_place(origins), facts_of(trained.task.kind));
  adopt_answers(config.answers, config.run, origins);
  evaluate_files(
      config, trained.task,
      [&](const std::string& file) {
        return read_split(file, trained.task, trained.tokenizer, trained.samples, Labelled::yes);
      },
      [&](const TaskSplit& split, WorkProgress& progress) {
        return answer(*trained.model, split, trained.task, config.answers, device_named(config.use.device),
                      Labelled::yes, &progress);
      });
}

void evaluate_translations(const EvaluateConfig& config) {
  const std::vector<std::string> hypotheses = read_lines(config.hypothesis);
  std::vector<std::vector<std::string>> references;
  for (const std::string& path : config.reference) {
    references.push_back(read_lines(path));
    check_aligned(path, std::ssize(references.back()), name_of_input(config.hypothesis), std::ssize(hypotheses));
  }
  warn_of_pieces(name_of_input(config.hypothesis), hypotheses);

  nlohmann::ordered_json result;
  std::string lines;
  const std::vector<std::unique_ptr<metrics::Metric>> chosen = config.metrics.make();
  for (std::size_t m = 0; m < chosen.size(); ++m) {
    const metrics::Metric& metric = *chosen[m];
    const metrics::Tally tally = evaluate(metric, hypotheses, references, static_cast<int>(usable_processors()));
    lines += tally.line() + '\n';
    nlohmann::ordered_json& scores = result[config.metrics.choice.metrics[m]];
    scores = {{"name", metric.name()}, {"score", tally.value()}, {"signature", tally.signature()}};
    scores.update(metric.parts(tally.sum()));
  }
  std::cout << (config.json ? result.dump(2) + '\n' : lines) << std::flush;
}

metrics::AlignmentTally score_alignments(const EvaluateConfig& config) {
  const auto words_of = [](const std::string& file) {
    return file.empty() ? std::vector<std::int64_t>() : count_words(read_lines(file));
  };
  const LinkFormat format{.may_be_possible = false,
                          .remedy = "give the texts that were aligned, with words separated as in the alignment",
                          .source_words = words_of(config.source),
                          .target_words = words_of(config.target)};
  const std::vector<SentenceLinks> found = read_links(config.alignment, format);
  const std::string& gold_file = config.gold.gold;
  const std::vector<SentenceLinks> gold = read_gold_links(config.gold, format.source_words, format.target_words);
  check_aligned(gold_file, std::ssize(gold), name_of_input(config.alignment), std::ssize(found));
  const auto check_text = [&](const std::string& file, const std::vector<std::int64_t>& words) {
    if (!file.empty()) check_aligned(file, std::ssize(words), name_of_input(gold_file), std::ssize(gold));
  };
  check_text(config.source, format.source_words);
  check_text(config.target, format.target_words);
  metrics::AlignmentTally tally;
  for (std::size_t i = 0; i < gold.size(); ++i) tally.add(found[i].sure, gold[i]);
  return tally;
}

void evaluate_alignments(const EvaluateConfig& config) {
  const metrics::AlignmentTally tally = score_alignments(config);
  if (!config.json) {
    std::cout << fmt::format("AER = {:.1f} (precision = {:.1f} recall = {:.1f} links = {} sure = {} possible = {})\n",
                             tally.error_rate(), tally.precision(), tally.recall(), tally.links(), tally.sure(),
                             tally.possible())
              << std::flush;
    return;
  }
  const nlohmann::ordered_json result = {{"aer",
                                          {{"score", tally.error_rate()},
                                           {"precision", tally.precision()},
                                           {"recall", tally.recall()},
                                           {"links", tally.links()},
                                           {"sure", tally.sure()},
                                           {"possible", tally.possible()}}}};
  std::cout << result.dump(2) << '\n' << std::flush;
}

void run(const EvaluateConfig& config, const OptionOrigins& origins) {
  if (!config.run.empty()) return evaluate_task(config, origins);
  config.scores_alignments() ? evaluate_alignments(config) : evaluate_translations(config);
}

}  // namespace

Command evaluate_command() {
  return make_command<EvaluateConfig>("evaluate",
                                      "score translations, word alignments, or the answers of a run to a task", run,
                                      "--hypothesis hyp.de --reference corpus/test.de");
}

}  // namespace attend
