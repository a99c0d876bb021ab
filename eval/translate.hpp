// Translates lines of text: encodes them, makes batches of similar length, searches with several workers that share a
// frozen model, and returns results in input order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/options.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/line_requests.hpp"
#include "eval/metrics/bayes_risk.hpp"
#include "eval/search/ensemble.hpp"
#include "eval/search/search.hpp"
#include "models/layers/pass.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

struct TranslatorConfig {
  SearchConfig search;
  std::int64_t mbr = 0;
  metrics::Utility utility = metrics::Utility::chrf;
  std::int64_t batch_size = 32;
  std::optional<std::int64_t> workers = {};
  std::int64_t threads = 1;
  const AttentionEdit* edit = nullptr;  // of attention weights, which outlives the translator; no option

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    SearchConfig::visit(self.search, visit);
    visit.group("Minimum Bayes risk");
    visit("mbr", self.mbr,
          {.help = "choose, among N hypotheses (at least 2), the one most like the others. They are N samples, drawn "
                   "with the options of --sample, or, with --nbest N, the N best of a beam. 0: choose the best",
           .min = 0,
           .max = 1000,
           .placeholder = "N"});
    visit("utility", self.utility, {.help = "likeness of two hypotheses: their sentence-level score", .only = {"mbr"}});
    visit.group("Speed");
    visit("batch-size", self.batch_size, {.help = "sentences per batch of a worker", .min = 1, .max = 10000});
    visit("workers", self.workers, {.help = "parallel workers; auto: one per processor", .min = 1, .max = 1024});
    visit("threads", self.threads, {.help = "threads per worker", .min = 1, .max = 1024});
  }
  // UserError for contradictory numbers.
  void validate(const OptionOrigins& origins) const;

  // The facts on which the options of the search depend. `is_reranked`: by another run.
  Facts facts(bool is_reranked = false) const;

  // The search for the hypotheses of which --mbr chooses one: without --sample and --nbest, samples, with epsilon 0.02
  // unless a truncation is given.
  SearchConfig candidates() const;
};

// The number of pieces of a source line that are read, without the end of sentence: kMostPieces, or fewer if the model
// has positions for fewer.
inline constexpr std::size_t kMostPieces = 1024;
std::size_t most_source_pieces(const Seq2SeqImpl& model);

// The lines that were too long to be read as a whole.
struct CutLines {
  std::int64_t count = 0;
  std::int64_t first = 0;  // its number, from 1

  void add(std::int64_t number) {
    if (count++ == 0) first = number;
  }
  // "2 lines were cut to 1024 pieces, the first is line 17"
  std::string report(std::size_t pieces) const;
};

// One translation of a line, always a single line.
struct Translation {
  std::string text;
  Hypothesis hypothesis;  // empty for a blank line
};

// The other models of an ensemble, each with its source tokenizer; they share the first model's target tokenizer.
struct Companions {
  struct Model {
    const Seq2SeqImpl* model = nullptr;
    Tokenizer src;
  };
  std::vector<Model> models = {};
  EnsembleKind kind = EnsembleKind::linear;
  std::vector<double> weights = {};  // of all models, the first model's first; they sum to 1
};

struct TranslationRequest {
  const Seq2SeqImpl& model;
  TargetIds ids;
  const SearchConfig& config;
  const LineRequests* asked = nullptr;     // of each line
  const Companions* companions = nullptr;  // nullptr: no ensemble
  const AttentionEdit* edit = nullptr;     // of every model's attention, in place of the config's threshold
};

// The results for every source sentence (with its eos): `search` over the model. `lines` are their numbers in the
// input, `companion_src` the same sentences in the ids of each companion.
std::vector<std::vector<Hypothesis>> translate(const TranslationRequest& request, const Sequences& src,
                                               std::span<const std::int64_t> lines = {},
                                               std::span<const Sequences> companion_src = {});

// The model is not modified; it and `progress`, which counts translated lines, must outlive the translator.
class Translator {
 public:
  Translator(const Seq2SeqImpl& model, TokenizerPair tokenizers, const TranslatorConfig& config,
             WorkProgress* progress = nullptr);

  // Sets the requests for each line; `asked` must outlive the translator.
  void ask(const LineRequests& asked) { asked_ = &asked; }

  // Translates as an ensemble with other models, which must outlive this. Sources are cut to the smallest limit of all.
  void add_models(Companions companions);

  // Called with lines and all hypotheses that search keeps of each: may change their scores and order.
  using Rescore = std::function<void(const std::vector<std::string>&, std::vector<std::vector<Translation>>&)>;
  void rescore_with(Rescore rescore);

  // Maximum translations of a line.
  std::int64_t num_results() const { return num_results_; }

  // The translations of each line, best first, at least one. A blank line gives a blank one; a line of more than
  // most_source_pieces() is cut.
  // UserError, before any of them is translated, for requests that cannot be met. Interrupted after SIGINT or SIGTERM.
  std::vector<std::vector<Translation>> translate(const std::vector<std::string>& lines);

  // Translates lines from `next` until it returns false, and passes every line's translations to `emit` in order. Lines
  // are gathered in windows, so that batches have similar lengths; with `at_once` each is answered before the next is
  // read. A UserError of `next` is rethrown after the lines before it.
  void translate_stream(const std::function<bool(std::string&)>& next,
                        const std::function<void(std::vector<Translation>&)>& emit, bool at_once);

  // The lines cut so far.
  const CutLines& cut() const { return cut_; }
  // Logs a warning if there are any.
  void warn_of_cut() const;

 private:
  Sequences encode_for(const Companions::Model& companion, const std::vector<std::string>& lines,
                       const std::vector<std::size_t>& chosen) const;

  const Seq2SeqImpl& model_;
  TokenizerPair tokenizers_;
  TranslatorConfig config_;   // its nbest: the hypotheses to choose from
  std::int64_t num_results_;  // that remain of each line
  std::optional<Companions> companions_ = {};
  Rescore rescore_ = {};
  std::size_t most_pieces_;
  WorkProgress* progress_;
  const LineRequests* asked_ = nullptr;
  std::int64_t num_lines_ = 0;
  CutLines cut_;
};

}  // namespace attend
