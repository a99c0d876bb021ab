// attend predict: what a fine-tuned run says of lines of text, or of the test file of its task; and which words a
// pretrained one puts into a gap.
#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "data/text/lines.hpp"
#include "eval/task_answers.hpp"
#include "eval/text_use.hpp"
#include "models/bert_run.hpp"
#include "models/device.hpp"
#include "models/text_run.hpp"

namespace attend {
namespace {

using nlohmann::ordered_json;

struct PredictConfig {
  std::string run;
  std::string input = "-";
  std::string data;
  std::string checkpoint = "best";
  std::string device = "auto";
  AnswerConfig answers = {};
  bool fill_mask = false;
  std::int64_t top = 5;
  bool json = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "a run of attend finetune; with --fill-mask of attend pretrain",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("input", self.input,
          {.help = "one text a line, or two with a tab between (spans: question, tab, context; tags: words with spaces "
                   "between); - is standard input",
           .placeholder = "FILE"});
    visit("data", self.data,
          {.help = "predict the task's test file in this folder, in the form its leaderboard wants",
           .placeholder = "DIR"});
    visit("checkpoint", self.checkpoint, {.help = "best, last, or the path of a checkpoint"});
    visit("device", self.device, {.help = "auto, cpu, cuda or cuda:N", .placeholder = "NAME"});
    AnswerConfig::visit(self.answers, visit);
    visit("fill-mask", self.fill_mask, {.help = "the likeliest pieces for every [MASK] of a line"});
    visit("top", self.top, {.help = "fill-mask: how many", .min = 1, .max = 1000});
    visit("json", self.json, {.help = "one JSON object a line, with all probabilities"});
  }
};

// One line as a split of one record; nothing for a line without text, which no encoder is asked about.
std::optional<TaskSplit> split_of_line(const std::string& line, const std::string& place, const TextRun& run) {
  const auto tab = line.find('\t');
  const std::string first = line.substr(0, tab), second = tab == std::string::npos ? "" : line.substr(tab + 1);
  if (first.find_first_not_of(' ') == std::string::npos) return std::nullopt;
  const bool pair = run.task.kind == TaskKind::spans || (run.task.kind != TaskKind::tags && run.task.text.size() == 2);
  if (pair != (tab != std::string::npos)) {
    throw UserError(place + (pair ? ": one text, expected two with a tab between" : ": a tab, expected one text"),
                    "the task reads " + std::string(pair ? "two texts" : "one text"));
  }
  TaskSplit split;
  SampleMaker maker(run.tokenizer, run.samples);
  if (run.task.kind == TaskKind::spans) {
    const Question question{.id = {}, .text = first};
    split.contexts = {run.tokenizer.encode_pieces(second)};
    split.questions = {.contexts = {second}, .questions = {question}};
    split.samples = maker.of_question(question, split.contexts[0], 0);
  } else if (run.task.kind == TaskKind::tags) {
    TaggedSentence sentence;
    for (std::size_t begin = 0; begin < line.size();) {
      const std::size_t end = std::min(line.find(' ', begin), line.size());
      if (end > begin) sentence.tokens.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    split.sentences = {sentence};
    split.samples = maker.of_sentence(sentence, run.task.labels, 0);
  } else {
    split.texts = {{.line = 1, .first = first, .second = second}};
    split.samples = {maker.of_text(split.texts[0], 0)};
  }
  return split;
}

ordered_json as_json(const TaskAnswers& answers, const TextRun& run, const PredictConfig& config) {
  ordered_json object;
  if (run.task.kind == TaskKind::spans) {
    object["answer"] = given_answer(answers.spans[0], /*may_lack_answers=*/false, config.answers);
    object["no_answer"] = answers.spans[0].no_answer;
    for (const SpanAnswer::Candidate& candidate : answers.spans[0].candidates) {
      object["nbest"].push_back(
          {{"text", candidate.text}, {"probability", candidate.probability}, {"score", candidate.score}});
    }
  } else if (run.task.kind == TaskKind::tags) {
    object["tags"] = answers.tags[0];
  } else if (run.task.kind == TaskKind::regression) {
    object["number"] = answers.numbers[0][0];
  } else {
    if (run.task.kind == TaskKind::classification) object["label"] = run.task.labels[best_label(answers.numbers[0])];
    for (std::size_t i = 0; i < run.task.labels.size(); ++i) {
      object["probabilities"][run.task.labels[i]] = answers.numbers[0][i];
    }
  }
  return object;
}

std::string as_text(const TaskAnswers& answers, const TextRun& run, const PredictConfig& config) {
  const auto joined = [](const std::vector<std::string>& words, const std::string& separator) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
    return text;
  };
  switch (run.task.kind) {
    case TaskKind::classification: {
      const std::int64_t label = best_label(answers.numbers[0]);
      return fmt::format("{}\t{:.4f}", run.task.labels[label], answers.numbers[0][label]);
    }
    case TaskKind::multi_label: {
      std::vector<std::string> labels;
      for (std::size_t i = 0; i < run.task.labels.size(); ++i) {
        if (answers.numbers[0][i] > 0.5) labels.push_back(run.task.labels[i]);
      }
      return joined(labels, run.task.separator);
    }
    case TaskKind::regression:
      return fmt::format("{:.4f}", answers.numbers[0][0]);
    case TaskKind::spans: {
      const SpanAnswer& answer = answers.spans[0];
      return fmt::format("{}\t{:.4f}", given_answer(answer, /*may_lack_answers=*/false, config.answers),
                         answer.candidates.empty() ? 0 : answer.candidates[0].probability);
    }
    case TaskKind::tags:
      return joined(answers.tags[0], " ");
  }
  return {};
}

void predict_lines(const PredictConfig& config, const TextRun& run, torch::Device device) {
  LineReader reader(config.input);
  for (std::string line; reader.next(line);) {
    const std::string place = config.input + ":" + std::to_string(reader.counts().lines);
    const auto split = split_of_line(line, place, run);
    if (split) {
      const TaskAnswers answers = answer(*run.model, *split, run.task, config.answers, device, Labelled::no);
      std::cout << (config.json ? as_json(answers, run, config).dump() : as_text(answers, run, config));
    }
    std::cout << '\n';
  }
}

// GLUE wants a table of index and prediction, SQuAD an object of ids, CoNLL a token and its tag a line.
void predict_test_file(const PredictConfig& config, const TextRun& run, torch::Device device) {
  const std::string file = find_file(config.data, run.task.test)->string();
  const TaskSplit split = read_split(file, run.task, run.tokenizer, run.samples, Labelled::no);
  log::info("{}: {}", file, split.report());
  const TaskAnswers answers = answer(*run.model, split, run.task, config.answers, device, Labelled::no);
  if (run.task.kind == TaskKind::spans) {
    ordered_json object;
    for (std::size_t q = 0; q < answers.spans.size(); ++q) {
      object[split.questions.questions[q].id] =
          given_answer(answers.spans[q], split.questions.may_lack_answers, config.answers);
    }
    std::cout << object.dump(1) << '\n';
  } else if (run.task.kind == TaskKind::tags) {
    for (std::size_t s = 0; s < answers.tags.size(); ++s) {
      for (std::size_t w = 0; w < answers.tags[s].size(); ++w) {
        std::cout << split.sentences[s].tokens[w] << ' ' << answers.tags[s][w] << '\n';
      }
      std::cout << '\n';
    }
  } else {
    std::cout << "index\tprediction\n";
    for (std::size_t i = 0; i < answers.numbers.size(); ++i) {
      const bool number = run.task.kind == TaskKind::regression;
      TaskAnswers one{.numbers = {answers.numbers[i]}, .spans = {}, .tags = {}};
      const std::string text = as_text(one, run, config);
      std::cout << i << '\t' << (number ? fmt::format("{:.3f}", answers.numbers[i][0]) : text.substr(0, text.find('\t'))) << '\n';
    }
  }
}

void fill(const PredictConfig& config, torch::Device device) {
  LineReader reader(config.input);
  const BertRun run = BertRun::load(config.run, config.checkpoint, device);
  for (std::string line; reader.next(line);) {
    ordered_json object = ordered_json::array();
    std::string text;
    for (const std::vector<Filling>& fillings : fill_masks(*run.model, run.tokenizer, line, config.top)) {
      ordered_json& mask = object.emplace_back(ordered_json::array());
      for (const Filling& filling : fillings) {
        mask.push_back({{"piece", filling.word}, {"probability", filling.probability}});
        text += fmt::format("{}{} {:.4f}", text.empty() ? "" : "\t", filling.word, filling.probability);
      }
    }
    std::cout << (config.json ? object.dump() : text) << '\n';
  }
}

void run(const PredictConfig& config, const OptionOrigins& /*origins*/) {
  signals::install();
  const torch::Device device = device_named(config.device);
  if (config.fill_mask) {
    fill(config, device);
  } else {
    const TextRun trained = TextRun::load(config.run, config.checkpoint, device);
    config.data.empty() ? predict_lines(config, trained, device) : predict_test_file(config, trained, device);
  }
  if (!std::cout.flush()) throw UserError("standard output: cannot be written", "is the disk full?");
}

}  // namespace

Command predict_command() {
  return make_command<PredictConfig>("predict", "labels, answers and tags of text; words for gaps", run);
}

}  // namespace attend
