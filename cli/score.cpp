// attend score: log-probabilities of given translations, and the accuracy of contrastive pairs.
#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/input.hpp"
#include "cli/model_options.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/number.hpp"
#include "core/progress.hpp"
#include "core/signals.hpp"
#include "data/text/factors.hpp"
#include "data/text/lines.hpp"
#include "eval/score.hpp"
#include "eval/translate.hpp"
#include "models/run/device.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

using Json = nlohmann::ordered_json;

// Limits of the lines scored together: many, so that batches have similar lengths, but a few may fill the memory.
constexpr std::size_t kLinesInWindow = 8192;
constexpr std::size_t kBytesInScoredWindow = std::size_t{16} << 20;

struct ScoreCommandConfig {
  std::string run;
  std::string source;
  std::string target;
  std::string contrast;
  FactorFiles factors;
  ModelOptions use;
  ScoreConfig score;
  bool per_token = false;
  bool json = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Scoring");
    visit("run", self.run, {.help = "run of attend train", .placeholder = "DIR", .required = true, .positional = true});
    visit("source", self.source,
          {.help = "source text, one sentence per line, plain or .gz; -: standard input",
           .placeholder = "FILE",
           .required = true});
    visit("target", self.target,
          {.help = "translations of the source text, line by line", .placeholder = "FILE", .required = true});
    visit("contrast", self.contrast,
          {.help = "contrastive translations (with an error), line by line; the accuracy is the fraction of lines "
                   "whose translation in --target has the higher probability",
           .placeholder = "FILE"});
    FactorFiles::visit(self.factors, visit);
    ModelOptions::visit(self.use, visit);
    ScoreConfig::visit(self.score, visit);
    visit.group("Output");
    visit("per-token", self.per_token, {.help = "also print the log-probability of every target piece"});
    visit("json", self.json, {.help = "print one JSON object per line, and one with the sums at the end"});
  }

  void validate(const OptionOrigins& origins) const {
    const std::array files{&source, &target, &contrast};
    if (std::ranges::count_if(files, [](const std::string* file) { return *file == "-"; }) > 1) {
      throw UserError(origins(contrast == "-" ? "contrast" : "target") + ": standard input (-) can be read only once",
                      "write all but one of the texts to files");
    }
    if (per_token && !contrast.empty() && !json) {
      throw UserError(origins("per-token") + " with --contrast needs --json", "add --json");
    }
  }
};

// Files with corresponding lines.
class LineAlignedReader {
 public:
  explicit LineAlignedReader(const std::vector<std::string>& files) : files_(files) {
    for (const std::string& file : files) readers_.emplace_back(file);
  }

  // The next line of every file; false at the end. UserError naming the files and their numbers of lines if one has
  // more than another.
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

Json json_of(const TargetScore& score, const Tokenizer& tokenizer, bool per_token) {
  Json object = {{"log_prob", score.log_prob()}, {"pieces", score.pieces.size()}, {"words", score.words}};
  if (!per_token) return object;
  for (const ForcedPiece& piece : score.pieces) {
    object["tokens"].push_back({{"piece", tokenizer.piece(piece.id)}, {"log_prob", piece.log_prob}});
  }
  return object;
}

std::string text_of(const TargetScore& score, const Tokenizer& tokenizer, bool per_token) {
  std::string text = fmt::format("{:.6f}", score.log_prob());
  if (!per_token) return text;
  for (const ForcedPiece& piece : score.pieces) {
    text += fmt::format("\t{} {:.6f}", tokenizer.piece(piece.id), piece.log_prob);
  }
  return text;
}

// Scores and prints all lines, and finally their sums.
class ScorePrinter {
 public:
  ScorePrinter(const ScoreCommandConfig& config, const Run& trained)
      : config_(config), trained_(trained), progress_(size_of(config)) {}

  // `texts` are those of --source, --target and perhaps --contrast.
  void print(const std::vector<std::vector<std::string>>& texts) {
    const auto targets = score(trained_, texts[0], texts[1], config_.score, &progress_);
    const auto contrasts =
        has_contrast() ? score(trained_, texts[0], texts[2], config_.score, &progress_) : std::vector<TargetScore>();
    progress_.clear();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets_.add(targets[i]);
      if (has_contrast()) contrasts_.add(contrasts[i]);
      print_line(targets[i], has_contrast() ? &contrasts[i] : nullptr);
    }
  }

  void finish() const {
    if (config_.json) {
      Json summary = sums_of(targets_);
      if (has_contrast()) {
        summary["contrast"] = sums_of(contrasts_);
        const metrics::Interval interval = pairs_.interval();
        summary["accuracy"] = {
            {"value", pairs_.accuracy()}, {"low", interval.low}, {"high", interval.high}, {"correct", pairs_.correct}};
      }
      std::cout << Json{{"summary", summary}}.dump() << '\n';
    }
    report(config_.target, targets_);
    if (has_contrast()) {
      report(config_.contrast, contrasts_);
      const metrics::Interval interval = pairs_.interval();
      log::info("accuracy {:.1f} % ({} of {}); 95 % interval {:.1f} to {:.1f} if the pairs are independent",
                100 * pairs_.accuracy(), pairs_.correct, counted(pairs_.pairs, "pair"), 100 * interval.low,
                100 * interval.high);
    }
    warn_of_cut(config_.source, targets_.cut_sources, most_source_pieces(*trained_.model));
  }

 private:
  // Each line is a pair of source and target, and with --contrast another one.
  static WorkSize size_of(const ScoreCommandConfig& config) {
    return work_on_lines({config.source}, {}, "pairs", config.contrast.empty() ? 1 : 2);
  }
  bool has_contrast() const { return !config_.contrast.empty(); }

  void print_line(const TargetScore& target, const TargetScore* contrast) {
    const bool is_correct = contrast != nullptr && pairs_.add(target.log_prob(), contrast->log_prob());
    const Tokenizer& tokenizer = trained_.tokenizers.tgt;
    if (config_.json) {
      Json object = json_of(target, tokenizer, config_.per_token);
      if (contrast != nullptr) {
        object["contrast"] = json_of(*contrast, tokenizer, config_.per_token);
        object["correct"] = is_correct;
      }
      std::cout << object.dump() << '\n';
      return;
    }
    std::cout << text_of(target, tokenizer, config_.per_token);
    if (contrast != nullptr) std::cout << '\t' << text_of(*contrast, tokenizer, false);
    std::cout << '\n';
  }

  static Json sums_of(const ScoreTally& tally) {
    return {{"lines", tally.lines},
            {"log_prob", tally.log_prob},
            {"pieces", tally.pieces},
            {"words", tally.words},
            {"perplexity_piece", tally.perplexity_by_piece()},
            {"perplexity_word", tally.perplexity_by_word()}};
  }

  static void warn_of_cut(const std::string& file, const CutLines& cut, std::size_t pieces) {
    if (cut.count > 0) log::warn("{}: {}", name_of_input(file), cut.report(pieces));
  }

  static void report(const std::string& file, const ScoreTally& tally) {
    log::info("{}: {}, {:.3f} nats per line; perplexity {:.3f} of {} pieces, {:.3f} of {} words", name_of_input(file),
              counted(tally.lines, "line"), tally.log_prob / static_cast<double>(tally.lines),
              tally.perplexity_by_piece(), tally.pieces, tally.perplexity_by_word(), tally.words);
    warn_of_cut(file, tally.cut_targets, kMostPieces);
  }

  const ScoreCommandConfig& config_;
  const Run& trained_;
  WorkProgress progress_;
  ScoreTally targets_, contrasts_;
  ContrastTally pairs_;
};

void run(const ScoreCommandConfig& config, const OptionOrigins& /*origins*/) {
  signals::install();
  at::set_num_threads(static_cast<int>(config.score.threads));
  std::vector<std::string> files = {config.source, config.target};
  if (!config.contrast.empty()) files.push_back(config.contrast);
  LineAlignedReader reader(files);  // opened first: a file that cannot be read is said at once
  FactorReader factors(config.factors.source_factors);
  const Run trained = Run::load(config.run, config.use.checkpoint, device_named(config.use.device));
  check_factor_files(trained.tokenizers, config.run, config.factors.source_factors.size());
  freeze(*trained.model, config.use.precision);
  ScorePrinter printer(config, trained);
  std::vector<std::string> lines(files.size());
  bool more = true;
  while (more) {
    std::vector<std::vector<std::string>> texts(files.size());
    std::size_t bytes = 0;
    while (texts[0].size() < kLinesInWindow && bytes < kBytesInScoredWindow && (more = reader.next(lines))) {
      lines[0] += factors.next(lines[0]);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        bytes += lines[i].size();
        texts[i].push_back(lines[i]);
      }
    }
    printer.print(texts);
  }
  if (reader.num_lines() == 0)
    throw UserError(name_of_input(config.source) + ": empty", "check that it is the right file");
  factors.finish();
  reader.log_counts();
  printer.finish();
}

}  // namespace

Command score_command() {
  return make_command<ScoreCommandConfig>("score", "compute the log-probability of given translations", run);
}

}  // namespace attend
