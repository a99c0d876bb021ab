// attend embed: a vector for every line, or the similarity of the two texts of a line.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "eval/encoder_output.hpp"
#include "models/run/run.hpp"
#include "train/session.hpp"

namespace attend {
namespace {

struct EmbedConfig {
  std::string run;
  std::string input = "-";
  ModelOptions use;
  LineOptions lines;
  SentenceOptions sentence;
  bool similarity = false;
  bool json = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "run of attend finetune, or of attend pretrain with --objective masked, permuted or hybrid",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("input", self.input, {.help = "one text per line; -: standard input", .file = FileUse::read});
    ModelOptions::visit(self.use, visit);
    LineOptions::visit(self.lines, visit);
    SentenceOptions::visit(self.sentence, visit);
    visit("similarity", self.similarity,
          {.help = "read two texts per line, separated by a tab, and print the cosine of their vectors"});
    visit("json", self.json, {.help = "print one JSON object per line"});
  }
};

// The texts of a line: one, or with --similarity two.
void append_texts(const std::string& line, const EmbedConfig& config, const std::string& place,
                  std::vector<std::string>& texts) {
  if (!config.similarity) return texts.push_back(line);
  auto [first, second] = two_texts(line, place, "separate two texts with a tab, or leave out --similarity");
  texts.push_back(std::move(first));
  texts.push_back(std::move(second));
}

void write(const std::vector<std::vector<float>>& vectors, const EmbedConfig& config) {
  for (std::size_t i = 0; i < vectors.size(); i += config.similarity ? 2 : 1) {
    if (config.similarity) {
      const double similarity = cosine(vectors[i], vectors[i + 1]);
      std::cout << (config.json ? nlohmann::json{{"similarity", similarity}}.dump()
                                : fmt::format("{:.6f}", similarity));
    } else {
      std::cout << (config.json ? nlohmann::json{{"embedding", vectors[i]}}.dump()
                                : fmt::format("{:.6g}", fmt::join(vectors[i], " ")));
    }
    std::cout << '\n';
  }
}

using EncoderOfTexts = std::pair<SentenceEncoder, Tokenizer>;

EncoderOfTexts load_encoder(const EmbedConfig& config, const std::filesystem::path& path) {
  const RunKind kind = kind_of_run(path);
  if (kind == RunKind::language) {
    const auto run = load_run_as<LanguageRun>(path, config.use);
    run.check_reads_both_sides(path);
    return {SentenceEncoder::of(run), run.tokenizer};
  }
  if (kind != RunKind::finetune) {
    const auto run = load_run_as<BertRun>(path, config.use);
    return {SentenceEncoder::of(run.model->bert), run.tokenizer};
  }
  const auto run = load_run_as<TextRun>(path, config.use);
  if (config.sentence.pooling == SentencePooling::cls && run.options.model == TextEncoderKind::language) {
    throw UserError("--pooling cls: the first token of a language model has not read the text", "use --pooling mean");
  }
  const auto states = [model = run.model](const SegmentedSequences& input, Pass& pass,
                                          const std::optional<Selection>& selected) {
    return model->encoder().forward(input, pass, selected).hidden_MH;
  };
  const torch::Device device = run.model->parameters().front().device();
  return {{.states = states, .longest = run.options.longest(), .device = device}, run.tokenizer};
}

void run(const EmbedConfig& given, const OptionOrigins& origins) {
  signals::install();
  EmbedConfig config = given;
  InputLines input(config.input, config.lines);
  const std::filesystem::path path = run_of_best_seed(config.run);
  if (std::filesystem::exists(path / kEmbedFile)) {
    auto theirs = read_config<SentenceOptions>(path / kEmbedFile);
    adopt_options(bind(config.sentence), bind(theirs), origins);
  }
  const auto [encoder, tokenizer] = load_encoder(config, path);
  std::int64_t num_cut = 0;
  std::vector<std::string> texts;
  const std::int64_t texts_in_line = config.similarity ? 2 : 1;
  WorkProgress progress(work_on_lines({config.input}, config.lines, "texts", texts_in_line));
  const auto add = [&](const std::string& line) { append_texts(line, config, input.place(), texts); };
  for (; input.next_together(add); texts.clear()) {
    const TextVectors embedded = embed(encoder, tokenizer, texts, config.sentence, &progress);
    num_cut += embedded.num_cut;
    progress.clear();
    write(embedded.vectors, config);
  }
  input.log_counts();
  if (num_cut > 0) {
    log::warn("{} cut to {} tokens", counted(num_cut, "text"), config.sentence.max_length.value_or(encoder.longest));
  }
}

}  // namespace

Command embed_command() {
  return make_command<EmbedConfig>("embed", "embed texts as vectors", run, "runs/tiny < sentences.txt");
}

}  // namespace attend
