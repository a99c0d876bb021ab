// attend predict: what a fine-tuned run says of lines of text, or of the test file of its task; and which words a
// pretrained one puts into a gap.
#include <spdlog/fmt/fmt.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/model_options.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "data/task/line_records.hpp"
#include "data/text/lines.hpp"
#include "eval/answers/answers.hpp"
#include "eval/encoder_attention.hpp"
#include "eval/fill_mask.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"
#include "models/run/text_run.hpp"

namespace attend {
namespace {

struct PredictConfig {
  std::string run;
  std::string input = "-";
  std::string data;
  std::string test;
  ModelOptions use;
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
    ModelOptions::visit(self.use, visit);
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

// The file of --attention, where one is asked for.
std::optional<EncoderAttention> open_attention(const PredictConfig& config, const Bert& bert,
                                               const Tokenizer& tokenizer) {
  if (config.attention.empty()) return std::nullopt;
  if (!bert) throw UserError(config.run + ": its encoder is an LSTM, which has no attention", "leave --attention out");
  return std::optional<EncoderAttention>(std::in_place, config.attention, bert, tokenizer);
}

void predict_together(const PredictConfig& config, const TextRun& run, torch::Device device, const LineRecords& lines) {
  const auto answers = answer(*run.model, lines.split(), run.task, config.answers, device, Labelled::no);
  for (const std::optional<std::int64_t>& record : lines.records()) {
    if (!record) {
      std::cout << (config.json ? "{}\n" : "\n");
      continue;
    }
    const auto i = static_cast<std::size_t>(*record);
    std::cout << (config.json ? answers->json(i).dump() : answers->text(i));
    if (const auto p = answers->probability(i); p && !config.json) std::cout << fmt::format("\t{:.4f}", *p);
    std::cout << '\n';
  }
}

void predict_lines(const PredictConfig& config, const TextRun& run, torch::Device device,
                   std::optional<EncoderAttention>& attention) {
  LineReader reader(config.input);
  const bool at_once = config.lines.at_once(config.input);
  std::int64_t num_cut = 0;
  while (true) {
    LineRecords lines(run.task, run.tokenizer, run.samples);
    if (!read_together(reader, at_once, [&](const std::string& line) { lines.add(line, reader.place()); })) break;
    lines.finish();
    predict_together(config, run, device, lines);
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
  if (num_cut > 0) log::warn("{} texts were cut to {} tokens", num_cut, format_of(run.task.kind).longest(run.samples));
}

void predict_test_file(const PredictConfig& config, const TextRun& run, torch::Device device,
                       std::optional<EncoderAttention>& attention) {
  const std::string file = config.test.empty() ? find_file(config.data, run.task.test)->string() : config.test;
  const TaskSplit split = read_split(file, run.task, run.tokenizer, run.samples, Labelled::no);
  log::info("{}: {}", file, split.report());
  const auto answers = answer(*run.model, split, run.task, config.answers, device, Labelled::no);
  if (attention) {
    for (const auto& sequences : sequences_of(split)) attention->add(sequences);
  }
  if (!config.json) return answers->write(std::cout);
  for (std::size_t i = 0; i < static_cast<std::size_t>(split.size()); ++i) {
    nlohmann::ordered_json object = answers->name(i);
    object.update(answers->json(i));
    std::cout << object.dump() << '\n';
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
    auto object = nlohmann::ordered_json::array();
    std::string text;
    const FilledText filled = is_blank(line) ? FilledText{} : fill_masks(*run.model, run.tokenizer, line, config.top);
    num_cut += filled.cut ? 1 : 0;
    num_without += filled.masks.empty() && !is_blank(line) ? 1 : 0;
    for (const std::vector<Filling>& fillings : filled.masks) {
      auto& mask = object.emplace_back(nlohmann::ordered_json::array());
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
    auto attention = open_attention(config, trained.model->encoder().bert(), trained.tokenizer);
    lines ? predict_lines(config, trained, device, attention) : predict_test_file(config, trained, device, attention);
    if (attention) attention->finish();
  }
}

}  // namespace

Command predict_command() {
  return make_command<PredictConfig>("predict", "give labels, answers and tags to text, and words to gaps", run);
}

}  // namespace attend
