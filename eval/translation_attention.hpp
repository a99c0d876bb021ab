// What a model attends to while it translates: a forward pass over each line and its best translation, observed, and
// written as attention weights between pieces (eval/attention.hpp) and as alignments between words
// (eval/alignment.hpp). Row t is the attention while target piece t is predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/options.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "eval/attention.hpp"
#include "eval/translate.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

struct TranslationAttentionConfig {
  std::string attention;
  std::string alignment;
  std::optional<std::int64_t> alignment_layer;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Attention");
    visit("attention", self.attention,
          {.help = "write the attention weights of every layer and head, of the best translation of each line, to this "
                   "file: one JSON object a line",
           .placeholder = "FILE"});
    visit(
        "alignment", self.alignment,
        {.help = "write an alignment of each line to its best translation to this file: SOURCE-TARGET for every target "
                 "word, counted from 0",
         .placeholder = "FILE"});
    visit("alignment-layer", self.alignment_layer,
          {.help = "decoder layer whose attention to the source, the mean of its heads, gives the alignment, from 0; "
                   "auto: the last",
           .min = 0,
           .max = 95});
  }
  // UserError for options that contradict each other.
  void validate(const OptionOrigins& origins) const;

  bool asked() const { return !attention.empty() || !alignment.empty(); }
};

// The files appear with finish(); without it they never were. The model must outlive this.
class TranslationAttention {
 public:
  // UserError where a file exists, or the model, which messages call `run`, has no such layer.
  TranslationAttention(const TranslationAttentionConfig& config, const Seq2SeqImpl& model, TokenizerPair tokenizers,
                       const std::string& run);

  // A line and what it was translated to, in the order of the input. A line without a piece gives an empty record.
  void add(const std::string& line, const Translation& best);
  void finish();

 private:
  struct Pair {
    std::string line;
    std::vector<Piece> source;  // as far as it was read
    Translation best;
  };

  AttentionRecorder observe(const std::vector<Pair>& pairs, Batch& batch) const;
  void write();  // the pairs that wait

  const Seq2SeqImpl& model_;
  TokenizerPair tokenizers_;
  std::optional<AtomicFile> attention_;
  std::optional<AtomicFile> alignment_;
  std::int64_t alignment_layer_ = 0;
  std::vector<Pair> waiting_;
  std::size_t longest_source_ = 0;  // pieces of those that wait
  std::size_t longest_target_ = 0;
};

}  // namespace attend
