// Translates lines of text: encodes them, makes batches of similar length, searches with several workers that share a
// frozen model, and returns results in input order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "eval/search.hpp"
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
    visit("batch-size", self.batch_size, {.help = "sentences per search of a worker", .min = 1, .max = 10000});
    visit("workers", self.workers, {.help = "parallel searches; auto: one per processor", .min = 1, .max = 1024});
    visit("threads", self.threads, {.help = "threads per worker", .min = 1, .max = 1024});
  }
  void validate(const OptionOrigins& origins) const { search.validate(origins); }
};

// One translation of a line, always a single line.
struct Translation {
  std::string text;
  Hypothesis hypothesis;  // empty for a blank line
};

// Model and config are not modified and must outlive the translator.
class Translator {
 public:
  Translator(const Seq2SeqImpl& model, TokenizerPair tokenizers, const TranslatorConfig& config);

  // The translations of each line, best first, at least one. A blank line gives a blank one; a line of more than
  // kLongestSource pieces is cut. Interrupted after SIGINT or SIGTERM.
  std::vector<std::vector<Translation>> translate(const std::vector<std::string>& lines);

  // Translates lines from `next` until it returns false, and passes every line's translations to `emit` in order. Lines
  // are gathered in windows, so that batches have similar lengths; with `at_once` each is answered before the next is
  // read.
  void translate_stream(const std::function<bool(std::string&)>& next,
                        const std::function<void(const std::vector<Translation>&)>& emit, bool at_once);

  // Lines that were cut.
  std::int64_t num_cut() const { return num_cut_; }

  static constexpr std::size_t kLongestSource = 1024;

 private:
  const Seq2SeqImpl& model_;
  TokenizerPair tokenizers_;
  const TranslatorConfig& config_;
  std::int64_t num_cut_ = 0;
};

}  // namespace attend
