// attend score for a translation model: log-probabilities of given translations, and the accuracy of contrastive ones.
#include <spdlog/fmt/fmt.h>

#include <deque>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/input.hpp"
#include "cli/score.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/text/minimal_pairs.hpp"
#include "data/text/parallel.hpp"
#include "eval/score.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

using Json = nlohmann::ordered_json;

// Limits of the lines scored together: enough for batches of similar lengths, unless long lines would fill the memory.
constexpr std::size_t kLinesInWindow = 8192;
constexpr std::size_t kBytesInScoredWindow = std::size_t{16} << 20;

// Files with corresponding lines.
class LineAlignedReader {
 public:
  explicit LineAlignedReader(const std::vector<std::string>& files) : files_(files) {
    for (const std::string& file : files) readers_.emplace_back(file);
  }

  // The next line of every file; false at the end. Throws UserError if their numbers of lines differ.
  bool next(std::vector<std::string>& lines) {
    std::size_t more = 0;
    for (std::size_t i = 0; i < readers_.size(); ++i) more += readers_[i].next(lines[i]);
    if (more == readers_.size()) return true;
    if (more > 0) refuse();
    return false;
  }

  void log_counts() const {
    for (std::size_t i = 0; i < readers_.size(); ++i) readers_[i].counts().log(files_[i]);
  }
  std::uint64_t num_lines() const { return readers_.front().counts().lines; }

 private:
  [[noreturn]] void refuse() {
    std::string line;
    for (LineReader& reader : readers_) {
      while (reader.next(line)) {
      }
    }
    const auto lines = [&](std::size_t i) { return static_cast<std::int64_t>(readers_[i].counts().lines); };
    std::size_t other = 1;
    while (lines(other) == lines(0)) ++other;
    throw UserError(fmt::format("{}: {}, but {} has {}", name_of_input(files_[other]), counted(lines(other), "line"),
                                name_of_input(files_[0]), lines(0)),
                    "give files with corresponding lines");
  }

  std::vector<std::string> files_;
  std::deque<LineReader> readers_;
};

// Scores translations, and formats and reports the scores.
class TranslationScorer {
 public:
  using Score = TextScore;
  using Tally = ScoreTally;

  explicit TranslationScorer(const ScoreCommandConfig& config)
      : config_(config), trained_(load_run_as<TranslationRun>(config.run, config.use)) {
    check_factor_files(trained_.tokenizers, config.run, config.factors.source_factors.size());
  }

  const Tokenizer& tokenizer() const { return trained_.tokenizers.tgt; }

  std::vector<TextScore> score(std::span<const SourceLine> sources, std::span<const std::string> targets,
                                 WorkProgress& progress) const {
    return attend::score(trained_, sources, targets, config_.score, &progress);
  }

  std::vector<TextScore> score(std::span<const MinimalPair> pairs, WorkProgress& progress) const {
    return score(sources_of(pairs), sentences_of(pairs), progress);
  }

  Json json_of(const TextScore& score) const {
    return score_json(score.pieces, score.words, tokenizer(), config_.per_token);
  }
  Json json_of(const ScoreTally& tally) const { return sums_json(tally); }

  void report(const std::string& name, const ScoreTally& tally) const {
    log::info("{}: {}", name, sums_text(tally));
    warn_of_cut(name, tally.cut_targets, kMostPieces);
  }

  void report(const ScoreTally& better, const ScoreTally& worse) const {
    report("better", better);
    report("worse", worse);
    warn_of_cut_sources("source", better);
  }

  void warn_of_cut_sources(const std::string& name, const ScoreTally& tally) const {
    warn_of_cut(name, tally.cut_sources, most_source_pieces(*trained_.model));
  }

 private:
  static void warn_of_cut(const std::string& name, const CutLines& cut, std::size_t pieces) {
    if (cut.count > 0) log::warn("{}: {}", name, cut.report(pieces));
  }

  const ScoreCommandConfig& config_;
  TranslationRun trained_;
};

// Scores and prints all lines, and finally their sums.
class TranslationScorePrinter {
 public:
  TranslationScorePrinter(const ScoreCommandConfig& config, const TranslationScorer& scorer)
      : config_(config), scorer_(scorer), progress_(size_of(config)) {}

  // `texts`: lines of --target and, if given, --contrast.
  void print(const std::vector<SourceLine>& sources, const std::vector<std::vector<std::string>>& texts) {
    const auto targets = scorer_.score(sources, texts[0], progress_);
    const auto contrasts = has_contrast() ? scorer_.score(sources, texts[1], progress_) : std::vector<TextScore>();
    progress_.clear();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets_.add(targets[i]);
      if (has_contrast()) contrasts_.add(contrasts[i]);
      print_line(targets[i], has_contrast() ? &contrasts[i] : nullptr);
    }
  }

  void finish() const {
    if (config_.json) {
      Json summary = scorer_.json_of(targets_);
      if (has_contrast()) {
        summary["contrast"] = scorer_.json_of(contrasts_);
        summary["accuracy"] = accuracy_json(pairs_);
      }
      std::cout << Json{{"summary", summary}}.dump() << '\n';
    }
    scorer_.report(name_of_input(config_.target), targets_);
    if (has_contrast()) {
      scorer_.report(name_of_input(config_.contrast), contrasts_);
      log::info("accuracy {} if the pairs are independent", accuracy_text(pairs_));
    }
    scorer_.warn_of_cut_sources(name_of_input(config_.source), targets_);
  }

 private:
  // A line is one pair of source and target, with --contrast two.
  static WorkSize size_of(const ScoreCommandConfig& config) {
    return work_on_lines({config.source}, {}, "pairs", config.contrast.empty() ? 1 : 2);
  }
  bool has_contrast() const { return !config_.contrast.empty(); }

  void print_line(const TextScore& target, const TextScore* contrast) {
    const bool is_correct = contrast != nullptr && pairs_.add(target.log_prob(), contrast->log_prob());
    if (config_.json) {
      Json object = scorer_.json_of(target);
      if (contrast != nullptr) {
        object["contrast"] = scorer_.json_of(*contrast);
        object["correct"] = is_correct;
      }
      std::cout << object.dump() << '\n';
      return;
    }
    const Tokenizer& tokenizer = scorer_.tokenizer();
    std::cout << score_text(target.pieces, tokenizer, config_.per_token);
    if (contrast != nullptr) std::cout << '\t' << score_text(contrast->pieces, tokenizer, false);
    std::cout << '\n';
  }

  const ScoreCommandConfig& config_;
  const TranslationScorer& scorer_;
  WorkProgress progress_;
  ScoreTally targets_, contrasts_;
  ContrastTally pairs_;
};

void score_translation_lines(const ScoreCommandConfig& config) {
  std::vector<std::string> files = {config.source, config.target};
  if (!config.contrast.empty()) files.push_back(config.contrast);
  LineAlignedReader reader(files);  // opened first, to report an unreadable file at once
  FactorReader factors(config.factors.source_factors);
  const TranslationScorer scorer(config);
  TranslationScorePrinter printer(config, scorer);
  std::vector<std::string> lines(files.size());
  bool more = true;
  while (more) {
    std::vector<SourceLine> sources;
    std::vector<std::vector<std::string>> texts(files.size() - 1);
    std::size_t bytes = 0;
    while (sources.size() < kLinesInWindow && bytes < kBytesInScoredWindow && (more = reader.next(lines))) {
      factors.add_to(sources.emplace_back(SourceLine{lines[0]}));
      for (std::size_t i = 0; i < texts.size(); ++i) texts[i].push_back(lines[i + 1]);
      for (const std::string& line : lines) bytes += line.size();
    }
    printer.print(sources, texts);
  }
  if (reader.num_lines() == 0)
    throw UserError(name_of_input(config.source) + ": empty", "check that it is the right file");
  factors.finish();
  reader.log_counts();
  printer.finish();
}

}  // namespace

void score_translations(const ScoreCommandConfig& config) {
  if (!config.target.empty()) return score_translation_lines(config);
  std::vector<MinimalPair> pairs = read_minimal_pairs(config.contrast, PairsOf::translations);
  FactorReader factors(config.factors.source_factors);
  for (MinimalPair& pair : pairs) factors.add_to(pair.source);
  factors.finish();
  score_pairs(config, pairs, TranslationScorer(config));
}

}  // namespace attend
