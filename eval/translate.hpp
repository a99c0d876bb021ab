// Translates lines of text: encodes them, makes batches of similar length, searches with several workers that share a
// frozen model, and returns results in input order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "core/progress.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "eval/line_requests.hpp"
#include "eval/search/search.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

struct TranslatorConfig {
  SearchConfig search;
  std::int64_t batch_size = 32;
  std::optional<std::int64_t> workers = {};
  std::int64_t threads = 1;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    SearchConfig::visit(self.search, visit);
    visit.group("Speed");
    visit("batch-size", self.batch_size, {.help = "sentences per batch of a worker", .min = 1, .max = 10000});
    visit("workers", self.workers, {.help = "parallel workers; auto: one per processor", .min = 1, .max = 1024});
    visit("threads", self.threads, {.help = "threads per worker", .min = 1, .max = 1024});
  }
  void validate(const OptionOrigins& origins) const { search.validate(origins); }
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

struct TranslationRequest {
  const Seq2SeqImpl& model;
  TargetIds ids;
  const SearchConfig& config;
  const LineRequests* asked = nullptr;  // of each line
};

// The results for every source sentence (with its eos): `search` over the model. `lines` are their numbers in the input.
std::vector<std::vector<Hypothesis>> translate(const TranslationRequest& request, const Sequences& src,
                                               std::span<const std::int64_t> lines = {});

// Model and config are not modified; they and `progress`, which counts translated lines, must outlive the translator.
class Translator {
 public:
  Translator(const Seq2SeqImpl& model, TokenizerPair tokenizers, const TranslatorConfig& config,
             WorkProgress* progress = nullptr);

  // Asks for something of each line; `asked` must outlive the translator.
  void ask(const LineRequests& asked) { asked_ = &asked; }

  // The translations of each line, best first, at least one. A line is followed by the labels of the run's source
  // factors (data/text/factors.hpp). A blank line gives a blank one; a line of more than
  // most_source_pieces() is cut. UserError, before any of them is translated, for what is asked and cannot be.
  // Interrupted after SIGINT or SIGTERM.
  std::vector<std::vector<Translation>> translate(const std::vector<std::string>& lines);

  // Translates lines from `next` until it returns false, and passes every line's translations to `emit` in order. Lines
  // are gathered in windows, so that batches have similar lengths; with `at_once` each is answered before the next is
  // read.
  void translate_stream(const std::function<bool(std::string&)>& next,
                        const std::function<void(std::vector<Translation>&)>& emit, bool at_once);

  // The lines cut so far.
  const CutLines& cut() const { return cut_; }
  // Logs a warning of them, if there are any.
  void warn_of_cut() const;

 private:
  const Seq2SeqImpl& model_;
  TokenizerPair tokenizers_;
  const TranslatorConfig& config_;
  std::size_t most_pieces_;
  WorkProgress* progress_;
  const LineRequests* asked_ = nullptr;
  std::int64_t num_lines_ = 0;
  CutLines cut_;
};

}  // namespace attend
