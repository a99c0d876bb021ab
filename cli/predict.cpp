// attend predict: predictions of a fine-tuned run, or of a language model with a prompt, for lines of text or the test
// file of a task; and of a pretrained encoder for masked words.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"
#include "eval/answers/answers.hpp"
#include "eval/encoder_output.hpp"
#include "eval/prompt.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

struct PredictConfig {
  // What a call reads, on which options depend.
  static constexpr Fact kPredictionsFor{"predictions for"}, kCalls{"calls that"};
  static constexpr std::string_view kLines = "lines of text", kTestFile = "a test file",
                                    kReadTaskFiles = "read the task's files",
                                    kReadNone = "read none of the task's files";

  std::string run;
  std::string input = "-";
  std::string data;
  std::string test;
  ModelOptions use;
  LineOptions lines;
  AnswerConfig answers = {};
  bool fill_mask = false;
  PromptConfig prompt = {};
  std::int64_t top = 5;
  bool json = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "run of attend finetune; with --fill-mask, of attend pretrain; with --prompt, of attend pretrain "
                   "--objective causal or hybrid",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    constexpr Condition kOfLines = {kPredictionsFor, {kLines}};
    visit("input", self.input,
          {.help = "one text per line, or two separated by a tab (spans: question, tab, context; tags: words separated "
                   "by spaces, with --document-context a blank line between documents); -: standard input",
           .file = FileUse::read,
           .only = kOfLines});
    visit("fill-mask", self.fill_mask, {.help = "predict the most likely pieces for every [MASK] of a line"});
    PromptConfig::visit(self.prompt, visit, without("fill-mask"));
    visit.group("", {kCalls, {kReadTaskFiles}});
    visit("data", self.data,
          {.help = "directory of the task's test file, to predict in the format of its leaderboard; with --shots, of "
                   "its training file",
           .placeholder = "DIR",
           .only = without("fill-mask")});
    visit.group("");
    visit("test", self.test,
          {.help = "test file, instead of the one in --data, such as MNLI's mismatched test set",
           .file = FileUse::read,
           .only = without("fill-mask")});
    ModelOptions::visit(self.use, visit);
    visit.group("", kOfLines);
    LineOptions::visit(self.lines, visit);
    visit.group("");
    AnswerConfig::visit(self.answers, visit);
    visit("json", self.json, {.help = "print one JSON object per line, with probabilities"});
    visit.group("", kOfSpans);
    visit("nbest", self.answers.nbest, {.help = "answers per question, at most 20", .min = 1, .only = {"json"}});
    visit.group("");
    visit("top", self.top, {.help = "number of pieces per [MASK]", .min = 1, .max = 1000, .only = {"fill-mask"}});
  }

  // The kind of task is known without the run with --fill-mask and --prompt.
  Facts facts() const {
    Facts known = prompt.is_given() ? facts_of(TaskKind::classification) : Facts();
    if (fill_mask) known = {{kTasksOfKind, {"fill-mask"}}};
    const bool of_test = !test.empty() || (!data.empty() && !prompt.is_given());
    known[kPredictionsFor] = {std::string(of_test ? kTestFile : kLines), test.empty() ? "--data" : "--test"};
    const std::string because = prompt.is_given() ? "--prompt without --shots" : "--test names the file";
    const bool reads = prompt.is_given() ? prompt.shots > 0 : test.empty();
    known[kCalls] = {std::string(reads ? kReadTaskFiles : kReadNone), because};
    return known;
  }
};

using RecordOfLine = std::optional<std::int64_t>;  // none for a blank line

// Answers records and prints a line for each line of the input.
void predict_records(const TaskSplit& split, const std::vector<RecordOfLine>& records, const AnswerSplit& answer_all,
                     bool json, WorkProgress& progress) {
  const auto answers = answer_all(split, progress);
  progress.add(std::ranges::count(records, RecordOfLine()));
  progress.clear();
  for (const RecordOfLine& record : records) {
    if (!record) {
      std::cout << (json ? "{}\n" : "\n");
      continue;
    }
    const auto i = static_cast<std::size_t>(*record);
    std::cout << (json ? answers->json(i).dump() : answers->text(i));
    if (const auto p = answers->probability(i); p && !json) std::cout << fmt::format("\t{:.4f}", *p);
    std::cout << '\n';
  }
}

// Answers all records of a file and prints them in the format of the leaderboard, or as a JSON object each.
void predict_file(const std::string& file, const TaskSplit& split, const AnswerSplit& answer_all, bool json) {
  log::info("{}: {}", file, split.report());
  WorkProgress progress({.unit = "records", .total = split.size()});
  const auto answers = answer_all(split, progress);
  progress.clear();
  if (!json) return answers->write(std::cout);
  for (std::size_t i = 0; i < static_cast<std::size_t>(split.size()); ++i) {
    nlohmann::ordered_json object = answers->name(i);
    object.update(answers->json(i));
    std::cout << object.dump() << '\n';
  }
}

void predict_tuned(PredictConfig config, const OptionOrigins& origins, const TextRun& run) {
  refuse_inapplicable(config, given_place(origins), facts_of(run.task.kind));
  adopt_answers(config.answers, config.run, origins);
  if (!run.task.may_lack_answers && origins.given("null-threshold")) {
    throw UserError(
        origins("null-threshold") + " has no meaning for " + config.run + ": every question of its task has an answer",
        "leave it out");
  }
  const torch::Device device = device_named(config.use.device);
  const auto answer_all = [&](const TaskSplit& split, WorkProgress& progress) {
    return answer(*run.model, split, run.task, config.answers, device, Labelled::no, &progress);
  };
  if (!config.data.empty() || !config.test.empty()) {
    const std::string file = config.test.empty() ? find_file(config.data, run.task.test)->string() : config.test;
    const TaskSplit split = read_split(file, run.task, run.tokenizer, run.samples, Labelled::no);
    return predict_file(file, split, answer_all, config.json);
  }
  InputLines input(config.input, config.lines);
  WorkProgress progress(work_on_lines({config.input}, config.lines));
  std::int64_t num_cut = 0;
  while (true) {
    LineRecords lines(run.task, run.tokenizer, run.samples);
    if (!input.next_together([&](const std::string& line) { lines.add(line, input.place()); })) break;
    lines.finish();
    predict_records(lines.split(), lines.records(), answer_all, config.json, progress);
    num_cut += lines.num_cut();
  }
  input.log_counts();
  if (num_cut > 0)
    log::warn("{} cut to {} tokens", counted(num_cut, "text"), format_of(run.task.kind).longest(run.samples));
}

void predict_prompted(const PredictConfig& config) {
  const PromptedRun run(config.run, config.use, config.prompt, config.data);
  const auto answer_all = [&](const TaskSplit& split, WorkProgress& progress) { return run.answer(split, progress); };
  if (!config.test.empty()) {
    const TaskSplit split = read_texts(config.test, run.task(), Labelled::no);
    return predict_file(config.test, split, answer_all, config.json);
  }
  InputLines input(config.input, config.lines);
  WorkProgress progress(work_on_lines({config.input}, config.lines));
  while (true) {
    TaskSplit split{.file = name_of_input(config.input)};
    std::vector<RecordOfLine> records;
    const auto add = [&](const std::string& line) {
      records.emplace_back();
      if (is_blank(line)) return;
      records.back() = split.size();
      split.texts.push_back(text_of_line(line, input.place(), run.task()));
      split.texts.back().line = input.num_read();
    };
    if (!input.next_together(add)) break;
    predict_records(split, records, answer_all, config.json, progress);
  }
  input.log_counts();
}

void fill(const PredictConfig& config) {
  InputLines input(config.input, config.lines);
  using Filler = std::pair<MaskFiller, Tokenizer>;
  const auto of_bert = [&](const BertRun& run) {
    run.check_fills_masks(config.run);
    return Filler(MaskFiller::of(run.model), run.tokenizer);
  };
  const auto of_hybrid = [&](const LanguageRun& run) {
    run.check_reads_both_sides(config.run);
    return Filler(MaskFiller::of(run), run.tokenizer);
  };
  const auto refuse = [&](const auto& other) -> Filler { refuse_kind(config.run, other.kKind, BertRun::kKind); };
  const auto [filler, tokenizer] = std::visit(overloaded{of_bert, of_hybrid, refuse}, load_run(config.run, config.use));
  WorkProgress progress(work_on_lines({config.input}, config.lines));
  std::int64_t num_cut = 0, num_without = 0;
  for (std::string line; input.next(line);) {
    auto object = nlohmann::ordered_json::array();
    std::string text;
    const FilledText filled = is_blank(line) ? FilledText{} : fill_masks(filler, tokenizer, line, config.top);
    num_cut += filled.cut ? 1 : 0;
    num_without += filled.masks.empty() && !is_blank(line) ? 1 : 0;
    for (const std::vector<Filling>& fillings : filled.masks) {
      auto& mask = object.emplace_back(nlohmann::ordered_json::array());
      for (const Filling& filling : fillings) {
        mask.push_back({{"word", as_one_line(filling.word)}, {"probability", filling.probability}});
        text += fmt::format("{}{} {:.4f}", text.empty() ? "" : "\t", as_one_line(filling.word), filling.probability);
      }
    }
    progress.clear();
    std::cout << (config.json ? object.dump() : text) << '\n';
    progress.add();
  }
  input.log_counts();
  if (num_cut > 0) log::warn("{} cut to {} tokens", counted(num_cut, "text"), filler.longest);
  if (num_without > 0) log::warn("{} without [MASK]: nothing to fill in", counted(num_without, "text"));
}

void run(const PredictConfig& config, const OptionOrigins& origins) {
  signals::install();
  if (config.fill_mask) return fill(config);
  if (config.prompt.is_given()) return predict_prompted(config);
  const RunKind kind = kind_of_run(run_of_best_seed(config.run));
  const std::string tune = "fine-tune it: attend finetune --init-from " + config.run;
  if (kind == RunKind::language)
    throw UserError(config.run + ": a language model without a task",
                    "describe one in words: --prompt FILE; or " + tune);
  if (kind == RunKind::pretrain)
    throw UserError(config.run + ": a pretrained encoder without a task",
                    "fill in [MASK] with --fill-mask, or " + tune);
  predict_tuned(config, origins, load_run_as<TextRun>(config.run, config.use));
}

}  // namespace

Command predict_command() {
  return make_command<PredictConfig>("predict", "predict labels, answers and tags; fill in masked words", run,
                                     "runs/sentiment < sentences.txt");
}

}  // namespace attend
