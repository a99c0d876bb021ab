// attend translate: translates lines of text with a trained run.
#include <ATen/Parallel.h>

#include <deque>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/translate_options.hpp"
#include "cli/translating_runs.hpp"
#include "core/files.hpp"
#include "core/signals.hpp"
#include "data/text/factors.hpp"
#include "eval/pair_attention.hpp"
#include "eval/replace_unknown.hpp"
#include "eval/rerank.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

// One line out for each line in; with several hypotheses, one for each of them.
void print(const std::vector<Translation>& translations, std::int64_t number, bool numbered) {
  for (const Translation& translation : translations) {
    if (numbered) {
      std::cout << number << " ||| " << translation.text << " ||| " << translation.hypothesis.score << '\n';
    } else {
      std::cout << translation.text << '\n';
    }
  }
}

// Aligns lines with their best translations, before unknown words are replaced.
class Aligner {
 public:
  Aligner(const TranslateConfig& config, const Run& trained, const PairAttentionOptions& options)
      : tokenizers_(trained.tokenizers),
        file_(config.alignment, trained, config.runs.front(), config.alignment_layer, "--alignment-layer"),
        pairs_(trained, options,
               [this](const PiecePair& pair, const SentenceAttention& attention) { file_.write(pair, attention); }) {}

  void translated(const std::string& line, const Translation& best) {
    pairs_.add(pair_in_pieces(tokenizers_, line, best));
  }
  void finish() {
    pairs_.finish();
    file_.commit();
  }

 private:
  TokenizerPair tokenizers_;
  AlignmentFile file_;
  PairAttention pairs_;
};

// Writes the model's log p of every translation and of its pieces.
class ScoreFile {
 public:
  ScoreFile(const std::string& file, const Tokenizer& tokenizer) : tokenizer_(tokenizer), file_(file) {}

  void write(std::int64_t line, const Translation& translation) {
    const Hypothesis& hypothesis = translation.hypothesis;
    nlohmann::ordered_json object = {{"line", line},
                                     {"log_prob", hypothesis.log_prob},
                                     {"length", hypothesis.token_log_probs.size()},
                                     {"score", hypothesis.score},
                                     {"tokens", nlohmann::ordered_json::array()}};
    for (std::size_t i = 0; i < hypothesis.token_log_probs.size(); ++i) {
      const std::int32_t id = i < hypothesis.ids.size() ? hypothesis.ids[i] : tokenizer_.special().eos;
      object["tokens"].push_back({{"piece", tokenizer_.piece(id)}, {"log_prob", hypothesis.token_log_probs[i]}});
    }
    file_.write(object.dump() + '\n');
  }
  void commit() { file_.commit(); }

 private:
  const Tokenizer& tokenizer_;
  AtomicFile file_;
};

// What is asked besides plain translations.
struct Extras {
  std::optional<LineRequests> asked = {};
  std::optional<UnknownWords> unknown = {};
  std::optional<Aligner> aligner = {};
  std::optional<ScoreFile> scores = {};

  void finish() {
    if (aligner) aligner->finish();
    if (scores) scores->commit();
  }
};

void translate(const TranslateConfig& config, const std::vector<std::string>& names, std::deque<InputLines>& inputs,
               FactorReader& factors, const TranslatingRuns& runs, Extras& extras) {
  WorkProgress progress(work_on_lines(names, config.lines));
  const Run& first = runs.together.front();
  Translator translator(*first.model, first.tokenizers, config.translator, &progress);
  if (runs.together.size() > 1) translator.add_models(runs.companions(config.ensemble.ensemble));
  std::optional<Reranker> reranker;
  if (runs.rerank) {
    reranker.emplace(*runs.rerank, config.rerank,
                     ScoreConfig{.workers = config.translator.workers, .threads = config.translator.threads});
    translator.rescore_with([&](const auto& lines, auto& translations) { reranker->rescore(lines, translations); });
  }
  if (extras.asked) translator.ask(*extras.asked);
  std::deque<std::string> lines;  // read and not yet translated, if extras need them
  std::int64_t number = 0;
  for (InputLines& input : inputs) {
    const auto next = [&](std::string& line) {
      const bool more = input.next(line);
      if (more) line += factors.next(line);
      if (more && (extras.aligner || extras.unknown)) lines.push_back(line);
      return more;
    };
    const auto emit = [&](std::vector<Translation>& translations) {
      progress.clear();
      if (extras.aligner) extras.aligner->translated(lines.front(), translations.front());
      if (extras.unknown) extras.unknown->replace(lines.front(), translations);
      if (!lines.empty()) lines.pop_front();
      print(translations, number, translator.num_results() > 1);
      if (extras.scores) {
        for (const Translation& translation : translations) extras.scores->write(number, translation);
      }
      ++number;
    };
    translator.translate_stream(next, emit, input.at_once());
    progress.clear();
    input.log_counts();
  }
  factors.finish();
  translator.warn_of_cut();
  if (extras.asked) extras.asked->check_count(number);
}

void run(const TranslateConfig& config, const OptionOrigins& origins) {
  signals::install();
  at::set_num_threads(static_cast<int>(config.translator.threads));
  const std::vector<std::string> names = config.input.empty() ? std::vector<std::string>{"-"} : config.input;
  std::deque<InputLines> inputs;  // opened first: a file that cannot be read is said at once
  for (const std::string& name : names) inputs.emplace_back(name, config.lines);
  FactorReader factors(config.factors.source_factors);
  if (!config.alignment.empty()) refuse_existing(config.alignment, "--alignment");
  if (!config.scores.empty()) refuse_existing(config.scores, "--scores");
  const TranslatingRuns runs = load_runs(config, origins);
  const Run& first = runs.together.front();
  Extras extras;
  if (config.asked.any()) {
    extras.asked.emplace(config.asked, first.tokenizers.tgt);
    if (const auto lines = count_all_lines(names)) extras.asked->check_count(*lines);
  }
  const PairAttentionOptions attention{.only = AttentionPlace::cross,
                                       .threshold = config.translator.search.attention_threshold,
                                       .most_pieces = runs.most_pieces()};
  if (!config.alignment.empty()) extras.aligner.emplace(config, first, attention);
  if (!config.scores.empty()) extras.scores.emplace(config.scores, first.tokenizers.tgt);
  if (config.replace_unknown) {
    extras.unknown.emplace(first, config.runs.front(), config.dictionary, attention);
  }
  translate(config, names, inputs, factors, runs, extras);
  extras.finish();
}

}  // namespace

Command translate_command() { return make_command<TranslateConfig>("translate", "translate lines of text", run); }

}  // namespace attend
