// attend translate: translates lines of text with a trained run.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/options.hpp"
#include "eval/line_requests.hpp"
#include "eval/pair_attention.hpp"
#include "eval/postprocess.hpp"
#include "eval/search/ensemble.hpp"
#include "eval/translate.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

struct TranslateConfig {
  std::vector<std::string> runs;
  std::vector<std::string> input = {"-"};
  ModelOptions use;
  LineOptions lines;
  TranslatorConfig translator;
  LineRequestConfig asked;
  bool replace_unknown = false;
  std::string dictionary;
  EnsembleConfig ensemble;
  RerankConfig rerank;
  std::string alignment;
  std::optional<std::int64_t> alignment_layer;
  std::string scores;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Translation");
    visit("runs", self.runs,
          {.help = "run of attend train; several with one target vocabulary translate together, as an ensemble",
           .placeholder = "RUN",
           .required = true,
           .positional = true});
    visit("input", self.input,
          {.help = "files to translate, plain or .gz; -: standard input", .file = FileUse::read, .common = true});
    ModelOptions::visit(self.use, visit);
    LineOptions::visit(self.lines, visit);
    TranslatorConfig::visit(self.translator, visit);
    LineRequestConfig::visit(self.asked, visit);
    visit.group("Unknown words", {kTranslationFrom, {kFirstToLast}});
    visit("replace-unknown", self.replace_unknown,
          {.help = "replace each unknown piece of a translation by the source word attended to most, in the decoder's "
                   "last layer, averaged over heads"});
    visit("dictionary", self.dictionary,
          {.help = "file of lines SOURCE<TAB>TARGET: print TARGET instead of the source word SOURCE; of several lines "
                   "for one word, the first counts",
           .file = FileUse::read,
           .only = {"replace-unknown"}});
    EnsembleConfig::visit(self.ensemble, visit);
    RerankConfig::visit(self.rerank, visit);
    visit.group("Alignment");
    visit("alignment", self.alignment,
          {.help = "file for the word alignment of each line and its best translation, or its first sample, by the "
                   "attention of the first run: SOURCE-TARGET for every target word, counted from 0",
           .file = FileUse::write,
           .common = true});
    visit("alignment-layer", self.alignment_layer,
          {.help =
               "decoder layer (from 0) whose cross-attention, averaged over heads, gives the alignment; auto: the last",
           .min = 0,
           .max = 95,
           .only = {"alignment"}});
    visit.group("Scores");
    visit("scores", self.scores,
          {.help = "file for the log-probabilities of every translation and its pieces, as JSON lines",
           .file = FileUse::write,
           .common = true});
  }

  Facts facts() const {
    Facts all = translator.facts(!rerank.rerank.empty());
    all[kTranslationBy] = {std::string(runs.size() == 1 ? kSingleRun : kSeveralRuns)};
    return all;
  }

  // Throws UserError for contradictory options.
  void validate(const OptionOrigins& origins) const {
    translator.validate(origins);
    asked.validate(origins, translator.candidates());
    ensemble.weights_of(runs.size(), origins);
    refuse_meaningless_to_several(origins);
    refuse_nothing_to_rerank(origins);
  }

 private:
  void refuse_meaningless_to_several(const OptionOrigins& origins) const {
    if (runs.size() == 1) return;
    if (translator.search.coverage_penalty > 0) {
      throw UserError(origins("coverage-penalty") + ": an ensemble has no attention of its own", "leave it out");
    }
    if (!is_checkpoint_path(use.checkpoint)) return;
    throw UserError(origins("checkpoint") + " " + use.checkpoint + ": a path names the weights of one run, but " +
                        std::to_string(runs.size()) + " are given",
                    "give auto, best or last");
  }

  void refuse_nothing_to_rerank(const OptionOrigins& origins) const {
    if (rerank.rerank.empty()) return;
    if (translator.mbr > 0) {
      throw UserError(origins("rerank") + " with --mbr: both choose among the hypotheses", "leave one of them out");
    }
    if (translator.search.rows() == 1) {
      const std::string search = translator.search.sample > 0 ? "--sample 1" : "a beam of 1";
      throw UserError(origins("rerank") + ": " + search + " has a single hypothesis",
                      "give --beam 2 or more, or --sample 2 or more without --beam");
    }
  }
};

// The runs of a call: those that translate, one or an ensemble, and perhaps one that reranks.
struct TranslatingRuns {
  std::vector<TranslationRun> together;
  std::vector<double> weights;
  std::optional<TranslationRun> rerank = {};

  // The models that join the first in the ensemble.
  Companions companions(EnsembleKind kind) const {
    Companions others{.kind = kind, .weights = weights};
    for (std::size_t i = 1; i < together.size(); ++i) {
      others.models.push_back({.model = together[i].model.get(), .src = together[i].tokenizers.src});
    }
    return others;
  }

  // The most source pieces that all models of the ensemble read.
  std::size_t most_pieces() const {
    std::size_t most = kMostPieces;
    for (const TranslationRun& trained : together) most = std::min(most, most_source_pieces(*trained.model));
    return most;
  }
};

void refuse_without_weights(const TranslationRun& trained, const OptionOrigins& origins, const std::string& run) {
  const bool hard = trained.options.attention == ChoiceKind::hard;
  if (!hard && trained.options.model != ModelKind::fixed) return;
  throw UserError(
      origins("attention-threshold") + ": " + run +
          (hard ? " has hard attention, which selects one position instead of weighting all" : " has no attention"),
      "leave it out");
}

void refuse_other_target(const TranslationRun& trained, const std::string& run, const TranslationRun& first,
                         const std::string& first_run) {
  const Tokenizer &tgt = trained.tokenizers.tgt, &expected = first.tokenizers.tgt;
  if (tgt.hash() != expected.hash()) {
    throw UserError(run + ": another target tokenizer than that of " + first_run,
                    "an ensemble needs one target vocabulary: train its runs with the same --tokenizer");
  }
  if (tgt.is_reversed() == expected.is_reversed()) return;
  const std::string& reversed = tgt.is_reversed() ? run : first_run;
  const std::string& other = tgt.is_reversed() ? first_run : run;
  throw UserError(reversed + ": trained with --reverse-target, but " + other + " is not",
                  "translate with the other runs and --rerank " + reversed);
}

// Loads and freezes the runs. Throws UserError if one cannot do what the options ask, or does not fit the others.
TranslatingRuns load_runs(const TranslateConfig& config, const OptionOrigins& origins) {
  TranslatingRuns runs{.together = {}, .weights = config.ensemble.weights_of(config.runs.size(), origins)};
  for (const std::string& path : config.runs) {
    const auto& trained = runs.together.emplace_back(load_run_as<TranslationRun>(path, config.use));
    refuse_other_target(trained, path, runs.together.front(), config.runs.front());
    if (config.translator.search.attention_threshold > 0) refuse_without_weights(trained, origins, path);
    if (config.translator.search.coverage_penalty > 0 && trained.options.model == ModelKind::fixed) {
      throw UserError(origins("coverage-penalty") + ": " + path + " has no attention", "leave it out");
    }
  }
  if (runs.together.front().tokenizers.tgt.is_reversed()) {
    const FactValue order{std::string(kLastToFirst), config.runs.front() + " was trained with --reverse-target"};
    refuse_inapplicable(config, given_place(origins), {{kTranslationFrom, order}});
  }
  if (!config.rerank.rerank.empty()) {
    ModelOptions use = config.use;
    if (use.checkpoint != "best" && use.checkpoint != "last") use.checkpoint = "auto";  // one of the other run
    runs.rerank = load_run_as<TranslationRun>(config.rerank.rerank, use);
  }
  return runs;
}

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

// Aligns lines with their best translations, which must still have their unknown words.
class Aligner {
 public:
  Aligner(const TranslateConfig& config, const TranslationRun& trained, const PairAttentionOptions& options)
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

// Writes the log-probability of every translation and of its pieces.
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

// Optional requests and outputs besides the translations.
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

void translate(const TranslateConfig& config, std::deque<InputLines>& inputs, const TranslatingRuns& runs,
               Extras& extras) {
  WorkProgress progress(work_on_lines(config.input, config.lines));
  const TranslationRun& first = runs.together.front();
  Translator translator(*first.model, first.tokenizers, config.translator, &progress);
  if (runs.together.size() > 1) translator.add_models(runs.companions(config.ensemble.ensemble));
  if (runs.rerank) {
    translator.rescore_with([&](const auto& lines, auto& translations) {
      const ScoreConfig scoring{.workers = config.translator.workers, .threads = config.translator.threads};
      rerank(*runs.rerank, config.rerank, scoring, lines, translations);
    });
  }
  if (extras.asked) translator.ask(*extras.asked);
  std::deque<std::string> lines;  // read and not yet translated, if extras need them
  std::int64_t number = 0;
  for (InputLines& input : inputs) {
    const auto next = [&](std::string& line) {
      const bool more = input.next(line);
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
  translator.warn_of_cut();
  if (extras.asked) extras.asked->check_count(number);
}

void run(const TranslateConfig& config, const OptionOrigins& origins) {
  begin_work(config.translator.threads);
  std::deque<InputLines> inputs;  // opened first, to report an unreadable file at once
  for (const std::string& name : config.input) inputs.emplace_back(name, config.lines);
  if (!config.alignment.empty()) refuse_existing(config.alignment, "--alignment");
  if (!config.scores.empty()) refuse_existing(config.scores, "--scores");
  const TranslatingRuns runs = load_runs(config, origins);
  const TranslationRun& first = runs.together.front();
  Extras extras;
  if (config.asked.any()) {
    extras.asked.emplace(config.asked, first.tokenizers.tgt);
    if (const auto lines = count_all_lines(config.input)) extras.asked->check_count(*lines);
  }
  const PairAttentionOptions attention{.only = AttentionPlace::cross,
                                       .threshold = config.translator.search.attention_threshold,
                                       .most_pieces = runs.most_pieces()};
  if (!config.alignment.empty()) extras.aligner.emplace(config, first, attention);
  if (!config.scores.empty()) extras.scores.emplace(config.scores, first.tokenizers.tgt);
  if (config.replace_unknown) {
    extras.unknown.emplace(first, config.runs.front(), config.dictionary, attention);
  }
  translate(config, inputs, runs, extras);
  extras.finish();
}

}  // namespace

Command translate_command() {
  return make_command<TranslateConfig>("translate", "translate lines of text", run,
                                       "runs/rnn --beam 5 < corpus/test.en");
}

}  // namespace attend
