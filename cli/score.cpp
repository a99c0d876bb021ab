// attend score: log-probabilities of given translations or texts, by the kind of run, and the accuracy of minimal
// pairs.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/options.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/text/minimal_pairs.hpp"
#include "data/text/parallel.hpp"
#include "data/text/word_alignment.hpp"
#include "eval/encoder_output.hpp"
#include "eval/score.hpp"
#include "eval/translate.hpp"
#include "models/attention/edits.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"
#include "train/translation/guided_attention.hpp"

namespace attend {
namespace {

struct ScoreCommandConfig {
  std::string run;
  std::string source;
  std::string target;
  std::string input = "-";
  std::vector<std::string> contrast;
  std::vector<std::string> cut;
  bool within_word = false;
  std::optional<std::int64_t> window;
  ModelOptions use;
  ScoreConfig score;
  bool per_token = false;
  bool json = false;

  // The fact that options depend on: the kind of model of the run.
  static constexpr Fact kModel{"runs of a"};
  static constexpr std::string_view kTranslation = "translation model", kLanguage = "language model", kBert = "BERT";
  static constexpr Condition kTranslations = {kModel, {kTranslation}};
  static constexpr Condition kTexts = {kModel, {kLanguage, kBert}};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Scoring");
    visit("run", self.run,
          {.help = "run of attend train or pretrain", .placeholder = "DIR", .required = true, .positional = true});
    visit("source", self.source,
          {.help = "source text, one sentence per line, plain or .gz; -: standard input; without it --contrast has "
                   "the sources and their translations",
           .file = FileUse::read,
           .only = kTranslations});
    visit("target", self.target,
          {.help = "translations of the source text, line by line", .file = FileUse::read, .only = kTranslations});
    visit("contrast", self.contrast,
          {.help = "minimal pairs; the accuracy is the fraction of pairs whose better text has the higher probability. "
                   "With --target: a file with a worse translation for each of its lines. Otherwise: files of lines "
                   "with a better and a worse sentence, for a translation model after their source; optionally after "
                   "the kind of the error, or its kind and distance; all separated by tabs; or *.jsonl of BLiMP",
           .file = FileUse::read});
    visit(
        "cut", self.cut,
        {.help = "cut attention in the pairs of --contrast: encoder, decoder or cross, and a file with a line of links "
                 "for each pair: 8-4 sets the weight of word 8 on word 4, counted from 0, to 0 in all heads. In cross, "
                 "word 8 is of the translation, word 4 of its source",
         .placeholder = "PLACE=FILE",
         .file = FileUse::read,
         .only = {"contrast"}});
    visit.group("Scoring", kTexts);
    visit("input", self.input,
          {.help = "one text per line, plain or .gz; -: standard input",
           .file = FileUse::read,
           .only = without("contrast")});
    visit.group("Scoring");
    visit("within-word", self.within_word,
          {.help = "with each piece, also mask the later pieces of its word, which would give it away",
           .only = {kModel, {kBert}}});
    visit("window", self.window,
          {.help = "window of a Transformer, in tokens, for texts that are longer; windows overlap by half; auto: the "
                   "size of its table of positions or, without one, the sum of --length and --memory of training",
           .min = 1,
           .max = 65535,
           .only = {kModel, {kLanguage}}});
    ModelOptions::visit(self.use, visit);
    ScoreConfig::visit(self.score, visit);
    visit.group("Output");
    visit("per-token", self.per_token, {.help = "also print the log-probability of every piece"});
    visit("json", self.json, {.help = "print one JSON object per line, and one with the sums at the end"});
  }

  // Reads the record of the run. UserError for a fine-tuned one.
  Facts facts() const {
    const auto model = [](std::string_view name) { return Facts{{kModel, {std::string(name)}}}; };
    switch (kind_of_run(run)) {
      case RunKind::train: return model(kTranslation);
      case RunKind::language: return model(kLanguage);
      case RunKind::pretrain: return model(kBert);
      case RunKind::finetune: break;
    }
    throw UserError(run + ": a run of attend finetune, which gives texts labels, not probabilities",
                    "give the RUN directory of attend train or pretrain");
  }

  void validate(const OptionOrigins& origins) const {
    if (!cut.empty() && !target.empty()) {
      throw UserError(origins("cut") + " has no meaning with --target",
                      "give the pairs with their sources in --contrast");
    }
    if (contrast.empty()) return;
    if (per_token && !json) throw UserError(origins("per-token") + " with --contrast needs --json", "add --json");
  }
};

using ScoreJson = nlohmann::ordered_json;

// A translation model, a language model, or a BERT whose scores are pseudo-log-likelihoods.
class Scorer {
 public:
  explicit Scorer(const ScoreCommandConfig& config) : config_(config), run_(load_run(config.run, config.use)) {
    if (auto* language = std::get_if<LanguageRun>(&run_); language != nullptr && config.window) {
      choose_window(*language, *config.window);
    }
    if (const auto* bert = std::get_if<BertRun>(&run_)) bert->check_fills_masks(config.run);
  }

  // `sources`: of translations, one for each text.
  std::vector<TextScore> score(std::span<const std::string> sources, std::span<const std::string> texts,
                               WorkProgress& progress, const AttentionEdit* edit = nullptr) const {
    ScoreConfig scoring = config_.score;
    scoring.edit = edit;
    if (edit != nullptr) scoring.workers = 1;
    if (const auto* translation = std::get_if<TranslationRun>(&run_)) {
      return attend::score(*translation, sources, texts, scoring, &progress);
    }
    if (const auto* language = std::get_if<LanguageRun>(&run_)) {
      return score_language(*language, texts, scoring, &progress);
    }
    return pseudo_log_likelihood(std::get<BertRun>(run_), texts, config_.within_word, scoring, &progress);
  }

  const AnyRun& run() const { return run_; }

  const Tokenizer& tokenizer() const {
    return std::visit(overloaded{[](const TranslationRun& run) -> const Tokenizer& { return run.tokenizers.tgt; },
                                 [](const auto& run) -> const Tokenizer& { return run.tokenizer; }},
                      run_);
  }
  bool is_pseudo() const { return std::holds_alternative<BertRun>(run_); }
  // The most pieces of a source; nullopt: texts have none.
  std::optional<std::size_t> most_pieces_of_source() const {
    const auto* translation = std::get_if<TranslationRun>(&run_);
    return translation == nullptr ? std::nullopt : std::optional(most_source_pieces(*translation->model));
  }

 private:
  void choose_window(LanguageRun& run, std::int64_t tokens) const {
    const std::string given = "--window: " + std::to_string(tokens) + ", but " + config_.run;
    if (!run.window) {
      throw UserError(given + " is a run of a recurrent model, which reads texts of any length", "leave --window out");
    }
    const std::optional<std::int64_t> longest = run.model->longest();
    if (longest && tokens > *longest) {
      throw UserError(given + " has a table of " + std::to_string(*longest) + " positions", "give at most as many");
    }
    run.window = tokens;
  }

  const ScoreCommandConfig& config_;
  AnyRun run_;
};

// Prints the score of each line or pair, and finally their sums.
class ScorePrinter {
 public:
  ScorePrinter(const ScoreCommandConfig& config, const Scorer& scorer) : config_(config), scorer_(scorer) {}

  void print(const TextScore& score) {
    better_.add(score);
    std::cout << (config_.json ? json_of(score).dump() : text_of(score)) << '\n';
  }

  // A line of --target and the line of --contrast, or the texts of a minimal pair.
  void print(const TextScore& better, const TextScore& worse, const MinimalPair* pair = nullptr) {
    better_.add(better);
    worse_.add(worse);
    const bool is_correct =
        pair == nullptr ? table_.add(better.log_prob(), worse.log_prob(), {}, {})
                        : table_.add(better.log_prob(), worse.log_prob(), pair->kind, pair->distance, pair->term);
    if (!config_.json) {
      std::cout << text_of(better) << '\t' << text_of(worse);
      if (pair != nullptr) std::cout << '\t' << (is_correct ? "right" : "wrong");
      std::cout << '\n';
      return;
    }
    ScoreJson object = ScoreJson::object();
    if (pair == nullptr) {
      object = json_of(better);
      object["contrast"] = json_of(worse);
    } else {
      if (!pair->kind.empty()) object["kind"] = pair->kind;
      if (!pair->term.empty()) object["term"] = pair->term;
      if (pair->distance) object["distance"] = *pair->distance;
      object["better"] = json_of(better);
      object["worse"] = json_of(worse);
    }
    object["correct"] = is_correct;
    std::cout << object.dump() << '\n';
  }

  // The texts are lines of `file`; their sources, if any, are those of --source.
  void finish(const std::string& file) const {
    const bool has_contrast = !config_.contrast.empty();
    if (config_.json) print_summary(json_of(better_), has_contrast ? "contrast" : "");
    report(name_of_input(file), better_);
    if (has_contrast) report(name_of_input(config_.contrast[0]), worse_);
    warn_of_cut_sources(name_of_input(config_.source));
    if (has_contrast) report_accuracies();
  }

  // The texts are minimal pairs.
  void finish() const {
    if (config_.json) print_summary({{"better", json_of(better_)}}, "worse");
    report("better", better_);
    report("worse", worse_);
    warn_of_cut_sources("source");
    report_accuracies();
  }

 private:
  // {"log_prob", "pieces", "words"}, with --per-token "tokens", and of a text alone "bytes".
  ScoreJson json_of(const TextScore& score) const {
    ScoreJson object = {{"log_prob", score.log_prob()}, {"pieces", score.pieces.size()}, {"words", score.words}};
    if (config_.per_token) {
      object["tokens"] = ScoreJson::array();
      for (const ForcedPiece& piece : score.pieces) {
        object["tokens"].push_back({{"piece", scorer_.tokenizer().piece(piece.id)}, {"log_prob", piece.log_prob}});
      }
    }
    if (!has_sources()) object["bytes"] = score.bytes;
    return object;
  }

  // The log-probability, and with --per-token each piece with its own, separated by tabs.
  std::string text_of(const TextScore& score) const {
    std::string text = fmt::format("{:.6f}", score.log_prob());
    if (!config_.per_token) return text;
    for (const ForcedPiece& piece : score.pieces) {
      text += fmt::format("\t{} {:.6f}", scorer_.tokenizer().piece(piece.id), piece.log_prob);
    }
    return text;
  }

  // {"lines", "log_prob", "pieces", "words", "perplexity_piece", "perplexity_word"}, and of texts alone "bytes" and
  // "bits_per_byte". The perplexity of no pieces or words is null.
  ScoreJson json_of(const ScoreTally& sums) const {
    const std::string kind = scorer_.is_pseudo() ? "pseudo_" : "";
    ScoreJson object = {{"lines", sums.lines},
                        {"log_prob", sums.log_prob},
                        {"pieces", sums.pieces},
                        {"words", sums.words},
                        {kind + "perplexity_piece", sums.perplexity_by_piece()},
                        {kind + "perplexity_word", sums.perplexity_by_word()}};
    if (has_sources()) return object;
    object["bytes"] = sums.bytes;
    object[kind + "bits_per_byte"] = sums.bits_per_byte();
    return object;
  }

  static ScoreJson json_of(const ContrastTally& tally) {
    const metrics::Interval interval = tally.interval();
    return {{"value", tally.accuracy()},
            {"low", interval.low},
            {"high", interval.high},
            {"correct", tally.correct},
            {"pairs", tally.pairs}};
  }

  // Adds the sums of the worse texts under their name, and the accuracies; without a name there are no such texts.
  void print_summary(ScoreJson summary, const std::string& worse) const {
    if (!worse.empty()) {
      summary[worse] = json_of(worse_);
      summary["accuracy"] = json_of(table_.all);
      for (const auto& [kind, tally] : table_.kinds) summary["kinds"][kind] = json_of(tally);
      for (const auto& [term, tally] : table_.terms) summary["terms"][term] = json_of(tally);
      for (const auto& [distance, tally] : table_.distances) {
        summary["distances"][std::to_string(distance)] = json_of(tally);
      }
    }
    std::cout << ScoreJson{{"summary", summary}}.dump() << '\n';
  }

  // "test.en: 60 lines, -4.000 nats per line; perplexity 2.718 of 240 pieces, 7.389 of 120 words; 1.234 bits per byte",
  // the bits of texts alone.
  void report(const std::string& name, const ScoreTally& sums) const {
    const std::string kind = scorer_.is_pseudo() ? "pseudo-" : "";
    std::string text =
        fmt::format("{}: {}, {:.3f} nats per line; {}perplexity {} of {}, {} of {}", name, counted(sums.lines, "line"),
                    sums.log_prob / static_cast<double>(sums.lines), kind, fixed(sums.perplexity_by_piece(), 3),
                    counted(sums.pieces, "piece"), fixed(sums.perplexity_by_word(), 3), counted(sums.words, "word"));
    if (!has_sources()) text += fmt::format("; {} {}bits per byte", fixed(sums.bits_per_byte(), 3), kind);
    log::info("{}", text);
    warn_of_cut(name, sums.cut_targets, kMostPieces);
  }

  void warn_of_cut_sources(const std::string& name) const {
    if (const auto most = scorer_.most_pieces_of_source()) warn_of_cut(name, better_.cut_sources, *most);
  }
  static void warn_of_cut(const std::string& name, const CutLines& cut, std::size_t pieces) {
    if (cut.count > 0) log::warn("{}: {}", name, cut.report(pieces));
  }

  // "accuracy  96.0 % (48 of 50 pairs); 95 % interval 86.5 to 98.9", and such a line for each kind, term and distance.
  void report_accuracies() const {
    std::vector<std::pair<std::string, ContrastTally>> rows = {{"accuracy", table_.all}};
    rows.insert(rows.end(), table_.kinds.begin(), table_.kinds.end());
    rows.insert(rows.end(), table_.terms.begin(), table_.terms.end());
    for (const auto& [distance, tally] : table_.distances) {
      rows.emplace_back(fmt::format("distance {}", distance), tally);
    }
    std::size_t width = 0;
    for (const auto& [name, tally] : rows) width = std::max(width, name.size());
    for (const auto& [name, tally] : rows) {
      const metrics::Interval interval = tally.interval();
      log::info("{:<{}}  {:.1f} % ({} of {}); 95 % interval {:.1f} to {:.1f}", name, width, 100 * tally.accuracy(),
                tally.correct, counted(tally.pairs, "pair"), 100 * interval.low, 100 * interval.high);
    }
    log::info("the intervals hold if the pairs are independent");
  }

  bool has_sources() const { return scorer_.most_pieces_of_source().has_value(); }

  const ScoreCommandConfig& config_;
  const Scorer& scorer_;
  ScoreTally better_, worse_;  // without a contrast all are better
  ContrastTable table_;
};

// The attention that --cut takes from each pair.
class PairCuts {
 public:
  PairCuts(const ScoreCommandConfig& config, std::span<const MinimalPair> pairs, PairsOf what)
      : run_(config.run), translations_(what == PairsOf::translations) {
    for (const std::string& word : config.cut) {
      const std::size_t equals = std::min(word.find('='), word.size());
      const auto& names = kEnumNames<AttentionPlace>;
      const auto place = std::ranges::find(names, word.substr(0, equals), &EnumName<AttentionPlace>::second);
      if (place == names.end() || equals + 1 >= word.size()) {
        throw UserError("--cut: \"" + word + "\", expected PLACE=FILE with the place encoder, decoder or cross",
                        "write --cut encoder=links.txt");
      }
      read(place->first, word.substr(equals + 1), pairs);
    }
  }

  bool empty() const { return links_.empty(); }

  // Scores each sentence of a pair by itself.
  std::vector<TextScore> score(const Scorer& scorer, const MinimalPair& pair, std::size_t number,
                               WorkProgress& progress) const {
    std::vector<TextScore> scores;
    for (const std::string& text : {pair.better, pair.worse}) {
      const CutLinks cut(links_of_pieces_in(scorer.run(), pair.source, text, number));
      scores.push_back(scorer.score({&pair.source, 1}, {&text, 1}, progress, &cut).front());
      if (const auto place = cut.unused()) {
        throw UserError(fmt::format("--cut {}: {} has no attention weights there", name_of(*place), run_),
                        "attend attention --help lists the places");
      }
    }
    return scores;
  }

 private:
  void read(AttentionPlace place, const std::string& file, std::span<const MinimalPair> pairs) {
    LinkFormat format{.direction = LinkDirection::target_source,
                      .may_be_possible = false,
                      .remedy = "give for each pair links from the attending to the attended word, from 0"};
    for (const MinimalPair& pair : pairs) {
      const auto words = [&](const std::string& text) { return std::ssize(spaced_words(text)); };
      const std::int64_t of_texts = std::min(words(pair.better), words(pair.worse));
      const std::int64_t of_source = translations_ ? words(pair.source) : of_texts;
      format.source_words.push_back(place == AttentionPlace::decoder ? of_texts : of_source);
      format.target_words.push_back(place == AttentionPlace::encoder ? of_source : of_texts);
    }
    std::vector<SentenceLinks> links = read_links(file, format);
    if (links.size() != pairs.size()) {
      throw UserError(fmt::format("{}: {} of links, but there are {}", file, counted(std::ssize(links), "line"),
                                  counted(std::ssize(pairs), "pair")),
                      format.remedy);
    }
    if (!links_.emplace(place, std::move(links)).second) {
      throw UserError(fmt::format("--cut: {} is given twice", name_of(place)), "give one file for each place");
    }
  }

  // [CLS] precedes the pieces of a BERT, and an end of sentence those that a decoder reads; it predicts a piece from
  // the position before.
  CutLinks::LinksOfPlaces links_of_pieces_in(const AnyRun& run, const std::string& source, const std::string& text,
                                             std::size_t number) const {
    CutLinks::LinksOfPlaces result;
    for (const auto& [place, links] : links_) {
      const bool of_source = translations_ && place != AttentionPlace::decoder;
      const auto words_in = [&](bool in_source) {
        const PiecesOfWords words = std::visit(
            overloaded{
                [&](const TranslationRun& trained) {
                  return in_source ? pieces_by_word(trained.tokenizers.src, source, most_source_pieces(*trained.model))
                                   : pieces_by_word(trained.tokenizers.tgt, text, kMostPieces);
                },
                [&](const BertRun& trained) {
                  return pieces_by_word(trained.tokenizer, text, trained.model->bert->options().max_positions - 2);
                },
                [&](const LanguageRun& trained) {
                  return pieces_by_word(trained.tokenizer, text, trained.window.value_or(kMostPieces) - 1);
                },
                [](const TextRun&) { return PiecesOfWords(); }},
            run);
        if (words.empty()) {
          throw UserError(fmt::format("--cut: a text of pair {} is longer than {} reads at once", number + 1, run_),
                          "leave the pair out");
        }
        return words;
      };
      const bool is_bert = std::holds_alternative<BertRun>(run);
      const std::int64_t before_query = is_bert ? 1 : 0;
      const std::int64_t before_key = is_bert || place == AttentionPlace::decoder ? 1 : 0;
      std::vector<Link>& pieces = result[place];
      for (const auto& [src, tgt] : links_of_pieces(links[number].sure, words_in(of_source),
                                                    words_in(translations_ && place == AttentionPlace::encoder))) {
        pieces.push_back({.src = src + before_key, .tgt = tgt + before_query});
      }
    }
    return result;
  }

  std::string run_;
  bool translations_;
  std::map<AttentionPlace, std::vector<SentenceLinks>> links_;  // of each pair, attended-attending
};

void score_pairs(const ScoreCommandConfig& config, PairsOf what) {
  constexpr std::size_t kPairsInWindow = 1024;
  std::vector<MinimalPair> pairs;
  for (const std::string& file : config.contrast) {
    std::ranges::move(read_minimal_pairs(file, what), std::back_inserter(pairs));
  }
  const PairCuts cuts(config, pairs, what);
  const Scorer scorer(config);
  ScorePrinter printer(config, scorer);
  WorkProgress progress({.unit = "sentences", .total = 2 * std::ssize(pairs)});
  if (!cuts.empty()) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const std::vector<TextScore> scores = cuts.score(scorer, pairs[i], i, progress);
      progress.clear();
      printer.print(scores[0], scores[1], &pairs[i]);
    }
    return printer.finish();
  }
  for (std::size_t first = 0; first < pairs.size(); first += kPairsInWindow) {
    const std::span window = std::span(pairs).subspan(first, std::min(kPairsInWindow, pairs.size() - first));
    const std::vector<TextScore> scores = scorer.score(sources_of(window), sentences_of(window), progress);
    progress.clear();
    for (std::size_t i = 0; i < window.size(); ++i) printer.print(scores[2 * i], scores[2 * i + 1], &window[i]);
  }
  printer.finish();
}

// Scores the lines of --input, or those of --target and, if given, --contrast as translations of --source.
void score_lines(const ScoreCommandConfig& config, bool translations) {
  const std::string& file = translations ? config.source : config.input;
  std::vector<std::string> files;
  if (translations) files.push_back(config.target);
  files.insert(files.end(), config.contrast.begin(), config.contrast.end());
  InputLines input(file, {});  // opened first, to report an unreadable file at once
  AlignedLines beside(files, name_of_input(file));
  const Scorer scorer(config);
  ScorePrinter printer(config, scorer);
  WorkProgress progress(work_on_lines({file}, {}, translations ? "pairs" : "lines", config.contrast.empty() ? 1 : 2));
  std::vector<std::string> sources;
  std::vector<std::vector<std::string>> texts(std::max<std::size_t>(files.size(), 1));
  const auto add = [&](const std::string& line) {
    if (!translations) return texts[0].push_back(line);
    sources.push_back(line);
    const std::vector<std::string>& lines = beside.next();
    for (std::size_t i = 0; i < lines.size(); ++i) texts[i].push_back(lines[i]);
  };
  while (input.next_together(add, translations ? 8192 : 1024)) {
    std::vector<std::vector<TextScore>> scores;
    for (std::vector<std::string>& lines : texts) {
      scores.push_back(scorer.score(sources, lines, progress));
      lines.clear();
    }
    sources.clear();
    progress.clear();
    for (std::size_t i = 0; i < scores[0].size(); ++i) {
      if (scores.size() == 1) {
        printer.print(scores[0][i]);
      } else {
        printer.print(scores[0][i], scores[1][i]);
      }
    }
  }
  input.log_counts();
  beside.finish();
  if (input.num_read() == 0) throw UserError(name_of_input(file) + ": empty", "check that it is the right file");
  printer.finish(translations ? config.target : file);
}

// Throws UserError unless a source and a target are given, or pairs that contain both.
void check_translations(const ScoreCommandConfig& config) {
  if (!config.contrast.empty() && config.source.empty() && config.target.empty()) return;
  for (const auto& [name, file] : {std::pair("source", config.source), std::pair("target", config.target)}) {
    if (!file.empty()) continue;
    throw UserError(
        std::string("attend score: --") + name + " is missing: " + config.run + " translates",
        "give the source text and its translations with --source and --target, or pairs of translations with "
        "--contrast");
  }
}

void run(const ScoreCommandConfig& config, const OptionOrigins& origins) {
  if (!config.target.empty() && config.contrast.size() > 1) {
    throw UserError(fmt::format("{}: {} files, but with --target one", origins("contrast"), config.contrast.size()),
                    "name the file with a worse translation for each line of --target");
  }
  const bool translations = kind_of_run(config.run) == RunKind::train;
  begin_work(config.score.threads);
  if (translations) check_translations(config);
  if (config.contrast.empty() || !config.target.empty()) return score_lines(config, translations);
  score_pairs(config, translations ? PairsOf::translations : PairsOf::texts);
}

}  // namespace

Command score_command() {
  return make_command<ScoreCommandConfig>("score", "compute the log-probability of translations or texts", run,
                                          "runs/rnn --source corpus/test.en --target corpus/test.de");
}

}  // namespace attend
