// attend predict: what a fine-tuned run says of lines of text, or of the test file of its task; and which words a
// pretrained one puts into a gap.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/model_use.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "data/text/lines.hpp"
#include "eval/encoder_attention.hpp"
#include "eval/fill_mask.hpp"
#include "eval/task_answers.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"
#include "models/run/text_run.hpp"

namespace attend {
namespace {

using nlohmann::ordered_json;

struct PredictConfig {
  std::string run;
  std::string input = "-";
  std::string data;
  std::string test;
  ModelUse use;
  LineOptions lines;
  AnswerConfig answers = {};
  bool fill_mask = false;
  std::int64_t top = 5;
  bool json = false;
  std::string attention;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "a run of attend finetune; with --fill-mask of attend pretrain",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("input", self.input,
          {.help = "one text a line, or two with a tab between (spans: question, tab, context; tags: words with spaces "
                   "between, with --document-context a blank line between documents); - is standard input",
           .placeholder = "FILE"});
    visit("data", self.data,
          {.help = "predict the task's test file in this folder, in the form its leaderboard wants",
           .placeholder = "DIR"});
    visit("test", self.test,
          {.help = "the test file itself, in place of --data, such as the mismatched one of MNLI",
           .placeholder = "FILE"});
    ModelUse::visit(self.use, visit);
    LineOptions::visit(self.lines, visit);
    AnswerConfig::visit(self.answers, visit);
    visit("fill-mask", self.fill_mask, {.help = "the likeliest pieces for every [MASK] of a line"});
    visit("top", self.top, {.help = "fill-mask: how many", .min = 1, .max = 1000});
    visit("json", self.json, {.help = "one JSON object a line, with probabilities"});
    visit("attention", self.attention,
          {.help = "write the attention weights of every layer and head of the encoder to this file: one JSON object a "
                   "record",
           .placeholder = "FILE"});
  }

  void validate(const OptionOrigins& origins) const {
    const auto refuse = [&](std::string_view option, const char* why) {
      if (origins.given(option)) throw UserError(origins(option) + " has no meaning " + why, "leave it out");
    };
    if (fill_mask) {
      for (const char* option : {"data", "test", "max-answer", "nbest", "null-threshold"}) {
        refuse(option, "for --fill-mask, which reads lines with gaps");
      }
    } else {
      refuse("top", "without --fill-mask");
    }
    if (attention == "-") {
      throw UserError(origins("attention") + " is -, but standard output carries the answers", "name a file");
    }
    if (data.empty() && test.empty()) return;
    refuse("input", "beside a test file");
    refuse("line-buffered", "beside a test file");
    if (!test.empty()) refuse("data", "beside --test");
  }
};

// Lines that are answered together. A line without text is no record: no encoder is asked about it.
class Lines {
 public:
  explicit Lines(const TextRun& run) : task_(run.task), tokenizer_(run.tokenizer), maker_(run.tokenizer, run.samples) {}

  // UserError naming `place` for a line with another number of texts than the task's.
  void add(const std::string& line, const std::string& place) {
    if (is_blank(line)) {
      records_.emplace_back();
      ++document_;
      return;
    }
    records_.emplace_back(split_.size());
    if (task_.kind == TaskKind::spans || (task_.kind != TaskKind::tags && task_.text.size() == 2)) {
      const auto [first, second] = two_texts(line, place, "the task reads two texts");
      add_record(first, second);
    } else if (line.find('\t') == std::string::npos) {
      add_record(line, std::nullopt);
    } else {
      throw UserError(place + ": a tab, expected one text", "the task reads one text");
    }
  }

  // To be called behind the last line: tags are told from the lines around, too.
  void finish() {
    if (task_.kind == TaskKind::tags) split_.samples = maker_.of_sentences(split_.sentences, task_.labels, 0);
  }

  const TaskSplit& split() const { return split_; }
  std::int64_t num_cut() const { return maker_.num_cut(); }
  // The record of every line, or nothing.
  const std::vector<std::optional<std::int64_t>>& records() const { return records_; }

 private:
  void add_record(const std::string& first, const std::optional<std::string>& second) {
    const std::int64_t record = split_.size();
    std::vector<Sample> samples;
    if (task_.kind == TaskKind::spans) {
      const Question& question =
          split_.questions.questions.emplace_back(Question{.text = first, .context = split_.contexts.size()});
      const std::string& context = split_.questions.contexts.emplace_back(*second);
      samples = maker_.of_question(question, split_.contexts.emplace_back(tokenizer_.encode_pieces(context)), record);
    } else if (task_.kind == TaskKind::tags) {
      std::istringstream words(first);
      TaggedSentence& sentence = split_.sentences.emplace_back(TaggedSentence{.document = document_});
      for (std::string word; words >> word;) sentence.tokens.push_back(word);
    } else {
      samples = {maker_.of_text(split_.texts.emplace_back(LabelledText{.first = first, .second = second}), record)};
    }
    std::ranges::move(samples, std::back_inserter(split_.samples));
  }

  const LabelledTask& task_;
  const Tokenizer& tokenizer_;
  SampleMaker maker_;
  TaskSplit split_;
  std::vector<std::optional<std::int64_t>> records_;
  std::int64_t document_ = 0;
};

// The labels of a text that has several: those that are likelier than not.
std::vector<std::string> given_labels(const std::vector<double>& probabilities, const LabelledTask& task) {
  std::vector<std::string> labels;
  for (std::size_t label = 0; label < task.labels.size(); ++label) {
    if (probabilities[label] > 0.5) labels.push_back(task.labels[label]);
  }
  return labels;
}

// What is said of record `i`.
ordered_json as_json(const TaskAnswers& answers, std::size_t i, const TaskSplit& split, const LabelledTask& task,
                     const PredictConfig& config) {
  ordered_json object;
  if (task.kind == TaskKind::spans) {
    const SpanAnswer& answer = answers.spans[i];
    object["answer"] = given_answer(answer, task.may_lack_answers, config.answers);
    object["no_answer"] = answer.no_answer;
    object["nbest"] = ordered_json::array();
    for (const SpanAnswer::Candidate& candidate : answer.candidates) {
      object["nbest"].push_back(
          {{"text", candidate.text}, {"probability", candidate.probability}, {"score", candidate.score}});
    }
  } else if (task.kind == TaskKind::tags) {
    object["tokens"] = split.sentences[i].tokens;
    object["tags"] = answers.tags[i];
    object["probabilities"] = answers.numbers[i];
  } else if (task.kind == TaskKind::regression) {
    object["number"] = answers.numbers[i][0];
  } else {
    const std::vector<double>& probabilities = answers.numbers[i];
    if (task.kind == TaskKind::classification) {
      object["label"] = task.labels[best_label(probabilities)];
    } else {
      object["labels"] = given_labels(probabilities, task);
    }
    for (std::size_t label = 0; label < task.labels.size(); ++label) {
      object["probabilities"][task.labels[label]] = probabilities[label];
    }
  }
  return object;
}

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

// The answer alone: a label, labels, a number, a span or tags.
std::string answer_text(const TaskAnswers& answers, std::size_t i, const LabelledTask& task,
                        const PredictConfig& config) {
  switch (task.kind) {
    case TaskKind::classification:
      return task.labels[best_label(answers.numbers[i])];
    case TaskKind::multi_label:
      return joined(given_labels(answers.numbers[i], task), task.separator);
    case TaskKind::regression:
      return fmt::format("{:.3f}", answers.numbers[i][0]);
    case TaskKind::spans:
      return given_answer(answers.spans[i], task.may_lack_answers, config.answers);
    case TaskKind::tags:
      return joined(answers.tags[i], " ");
  }
  ensure(false, "a known task");
  return {};
}

// The probability of a single label or of a span that is given, which stands behind it.
std::optional<double> probability(const TaskAnswers& answers, std::size_t i, const LabelledTask& task,
                                  const PredictConfig& config) {
  if (task.kind == TaskKind::classification) return answers.numbers[i][best_label(answers.numbers[i])];
  if (task.kind == TaskKind::spans && !answer_text(answers, i, task, config).empty())
    return answers.spans[i].candidates[0].probability;
  return std::nullopt;
}

// The file of --attention, where one is asked for.
std::optional<EncoderAttention> open_attention(const PredictConfig& config, const Bert& bert,
                                               const Tokenizer& tokenizer) {
  if (config.attention.empty()) return std::nullopt;
  if (!bert) throw UserError(config.run + ": its encoder is an LSTM, which has no attention", "leave --attention out");
  return std::optional<EncoderAttention>(std::in_place, config.attention, bert, tokenizer);
}

// What each record of a split is read as.
std::vector<std::vector<EncoderSequence>> sequences_of(const TaskSplit& split) {
  std::vector<std::vector<EncoderSequence>> sequences(split.size());
  for (const Sample& sample : split.samples) {
    sequences[sample.example].push_back({.ids = sample.ids, .first = sample.first});
  }
  return sequences;
}

void predict_window(const PredictConfig& config, const TextRun& run, torch::Device device, const Lines& lines) {
  const TaskAnswers answers = answer(*run.model, lines.split(), run.task, config.answers, device, Labelled::no);
  for (const std::optional<std::int64_t>& record : lines.records()) {
    if (!record) {
      std::cout << (config.json ? "{}\n" : "\n");
      continue;
    }
    const auto i = static_cast<std::size_t>(*record);
    if (config.json) {
      std::cout << as_json(answers, i, lines.split(), run.task, config).dump();
    } else {
      std::cout << answer_text(answers, i, run.task, config);
      if (const auto p = probability(answers, i, run.task, config)) std::cout << fmt::format("\t{:.4f}", *p);
    }
    std::cout << '\n';
  }
}

void predict_lines(const PredictConfig& config, const TextRun& run, torch::Device device,
                   std::optional<EncoderAttention>& attention) {
  LineReader reader(config.input);
  const bool at_once = config.lines.at_once(config.input);
  std::int64_t num_cut = 0;
  while (true) {
    Lines lines(run);
    if (!read_together(reader, at_once, [&](const std::string& line) { lines.add(line, reader.place()); })) break;
    lines.finish();
    predict_window(config, run, device, lines);
    if (attention) {
      const auto sequences = sequences_of(lines.split());
      for (const auto& record : lines.records()) {
        attention->add(record ? sequences[*record] : std::vector<EncoderSequence>());
      }
    }
    num_cut += lines.num_cut();
    if (at_once) std::cout.flush();
  }
  reader.counts().log(config.input);
  if (num_cut > 0) log::warn("{} texts were cut to {} tokens", num_cut, run.samples.longest(run.task.kind));
}

// GLUE wants a table of index and prediction, SQuAD an object of ids, CoNLL a token and its tag a line; in JSON every
// record is a line.
void predict_test_file(const PredictConfig& config, const TextRun& run, torch::Device device,
                       std::optional<EncoderAttention>& attention) {
  const std::string file = config.test.empty() ? find_file(config.data, run.task.test)->string() : config.test;
  const TaskSplit split = read_split(file, run.task, run.tokenizer, run.samples, Labelled::no);
  log::info("{}: {}", file, split.report());
  const TaskAnswers answers = answer(*run.model, split, run.task, config.answers, device, Labelled::no);
  if (attention) {
    for (const auto& sequences : sequences_of(split)) attention->add(sequences);
  }
  const bool spans = run.task.kind == TaskKind::spans;
  if (config.json) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(split.size()); ++i) {
      ordered_json object = {{spans ? "id" : "index", i}};
      if (spans) object["id"] = split.questions.questions[i].id;
      object.update(as_json(answers, i, split, run.task, config));
      std::cout << object.dump() << '\n';
    }
  } else if (spans) {
    ordered_json object;
    for (std::size_t q = 0; q < answers.spans.size(); ++q) {
      object[split.questions.questions[q].id] =
          given_answer(answers.spans[q], run.task.may_lack_answers, config.answers);
    }
    std::cout << object.dump(1) << '\n';
  } else if (run.task.kind == TaskKind::tags) {
    for (std::size_t s = 0; s < answers.tags.size(); ++s) {
      if (split.sentences[s].after_mark) std::cout << "-DOCSTART- O\n\n";
      for (std::size_t w = 0; w < answers.tags[s].size(); ++w) {
        std::cout << split.sentences[s].tokens[w] << ' ' << answers.tags[s][w] << '\n';
      }
      std::cout << '\n';
    }
  } else {
    std::cout << "index\tprediction\n";
    for (std::size_t i = 0; i < answers.numbers.size(); ++i) {
      std::cout << i << '\t' << answer_text(answers, i, run.task, config) << '\n';
    }
  }
}

void fill(const PredictConfig& config, torch::Device device) {
  LineReader reader(config.input);
  const BertRun run = BertRun::load(config.run, config.use.checkpoint, device);
  if (!run.fills_masks()) {
    throw UserError(config.run + ": an encoder that was imported without a head for masked tokens",
                    "import one that has it, such as a BertForMaskedLM");
  }
  freeze(*run.model, config.use.precision);
  auto attention = open_attention(config, run.model->bert, run.tokenizer);
  const bool at_once = config.lines.at_once(config.input);
  std::int64_t num_cut = 0, num_without = 0;
  for (std::string line; reader.next(line);) {
    if (signals::stop_requested()) throw Interrupted("stopped before all was filled");
    ordered_json object = ordered_json::array();
    std::string text;
    const FilledText filled = is_blank(line) ? FilledText{} : fill_masks(*run.model, run.tokenizer, line, config.top);
    num_cut += filled.cut ? 1 : 0;
    num_without += filled.masks.empty() && !is_blank(line) ? 1 : 0;
    for (const std::vector<Filling>& fillings : filled.masks) {
      ordered_json& mask = object.emplace_back(ordered_json::array());
      for (const Filling& filling : fillings) {
        mask.push_back({{"word", as_one_line(filling.word)}, {"probability", filling.probability}});
        text += fmt::format("{}{} {:.4f}", text.empty() ? "" : "\t", as_one_line(filling.word), filling.probability);
      }
    }
    std::cout << (config.json ? object.dump() : text) << '\n';
    if (at_once) std::cout.flush();
    if (attention && filled.ids.empty()) attention->add({});
    if (attention && !filled.ids.empty()) attention->add({{.ids = filled.ids, .first = filled.ids.size()}});
  }
  if (attention) attention->finish();
  reader.counts().log(config.input);
  if (num_cut > 0) log::warn("{} texts were cut to {} tokens", num_cut, run.model->bert->config().max_length);
  if (num_without > 0) log::warn("{} texts have no [MASK]: nothing was filled in", num_without);
}

void run(const PredictConfig& given, const OptionOrigins& origins) {
  signals::install();
  PredictConfig config = given;
  const torch::Device device = device_named(config.use.device);
  if (config.fill_mask) {
    fill(config, device);
  } else {
    if (kind_of_run(run_of_best_seed(config.run)) == RunKind::pretrain) {
      throw UserError(config.run + ": a pretrained encoder, which has learnt no task",
                      "fill [MASK] with --fill-mask, or teach it a task: attend finetune --init-from " + config.run);
    }
    const TextRun trained = TextRun::load(config.run, config.use.checkpoint, device);
    adopt_answers(config.answers, config.run, trained.task, origins);
    if (origins.given("null-threshold") && !trained.task.may_lack_answers) {
      throw UserError(origins("null-threshold") + " has no meaning for " + config.run +
                          ": its task has an answer to every question",
                      "leave it out");
    }
    freeze(*trained.model, config.use.precision);
    const bool lines = config.data.empty() && config.test.empty();
    auto attention = open_attention(config, trained.model->bert(), trained.tokenizer);
    lines ? predict_lines(config, trained, device, attention) : predict_test_file(config, trained, device, attention);
    if (attention) attention->finish();
  }
}

}  // namespace

Command predict_command() {
  return make_command<PredictConfig>("predict", "give labels, answers and tags to text, and words to gaps", run);
}

}  // namespace attend
