// The files of `attend translate --attention` and --alignment: weights between pieces (eval/attention.hpp) and word
// alignments (eval/alignment.hpp) of lines and their best translations, or given ones (eval/pair_attention.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/files.hpp"
#include "core/options.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "eval/pair_attention.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

struct TranslationAttentionConfig {
  std::string attention;
  std::string alignment;
  std::optional<std::int64_t> alignment_layer;
  std::string reference;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Attention");
    visit("attention", self.attention,
          {.help = "write the attention weights of every layer and head for the best translation of each line to this "
                   "file, one JSON object per line",
           .placeholder = "FILE"});
    visit("alignment", self.alignment,
          {.help = "write the word alignment of each line and its best translation to this file: SOURCE-TARGET for "
                   "every target word, from 0",
           .placeholder = "FILE"});
    visit("alignment-layer", self.alignment_layer,
          {.help = "decoder layer (from 0) whose attention to the source, averaged over heads, gives the alignment; "
                   "auto: the last",
           .min = 0,
           .max = 95});
    visit("reference", self.reference,
          {.help = "translations to observe, line by line, instead of the model's own: nothing is translated",
           .placeholder = "FILE"});
  }
  // UserError for contradictory options.
  void validate(const OptionOrigins& origins) const;

  bool asked() const { return !attention.empty() || !alignment.empty(); }

 private:
  void validate_reference(const OptionOrigins& origins) const;
};

// The files appear with finish(), or not at all. `trained` must outlive this.
class TranslationAttention {
 public:
  // UserError if a file exists, or the model of `run`, a run directory, lacks the layer. Weights are cut as in search.
  TranslationAttention(const TranslationAttentionConfig& config, const Run& trained, const std::string& run,
                       double attention_threshold);

  // A line and its translation, in input order. A line without pieces gives an empty record.
  void add(const std::string& line, const Translation& best) { pairs_.add(pair_in_pieces(tokenizers_, line, best)); }
  // The same with a text that the model did not make.
  void add_reference(const std::string& line, const std::string& reference) {
    pairs_.add(pair_in_pieces(tokenizers_, line, reference));
  }
  void finish();

 private:
  void write(const PiecePair& pair, const SentenceAttention& attention);

  TokenizerPair tokenizers_;
  std::optional<AtomicFile> attention_;
  std::optional<AtomicFile> alignment_;
  std::int64_t alignment_layer_ = 0;
  PairAttention pairs_;
};

}  // namespace attend
