// The options of BLEU, chrF and TER, declared once, and the metrics that they choose.
#pragma once

#include <cstdint>

#include "core/error.hpp"
#include "core/options.hpp"
#include "eval/metrics/bleu.hpp"
#include "eval/metrics/chrf.hpp"
#include "eval/metrics/ter.hpp"

namespace attend::metrics {

struct TranslationMetrics {
  bool lowercase = false;
  Tokenization tokenize = Tokenization::mteval_13a;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  std::int64_t chrf_word_order = 0;
  TercomOptions tercom;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("lowercase", self.lowercase, {.help = "ignore case in BLEU and chrF"});
    visit("tokenize", self.tokenize,
          {.help = "how BLEU splits lines into words: 13a for most languages, zh for Chinese, intl by Unicode's "
                   "punctuation and symbols, char into characters, none where they are split already"});
    visit("smoothing", self.smoothing, {.help = "how BLEU smooths n-gram orders without a match"});
    visit("chrf-word-order", self.chrf_word_order,
          {.help = "longest word n-grams in chrF; 2 gives chrF2++", .min = 0, .max = 2});
    visit("ter-normalized", self.tercom.normalized, {.help = "split off punctuation before TER counts edits"});
    visit("ter-no-punct", self.tercom.no_punct, {.help = "remove punctuation before TER counts edits"});
    visit("ter-asian-support", self.tercom.asian_support,
          {.help = "extend --ter-normalized and --ter-no-punct to Chinese and Japanese characters"});
    visit("ter-case-sensitive", self.tercom.case_sensitive, {.help = "make TER heed case"});
  }

  void validate(const OptionOrigins& origins) const {
    if (tercom.asian_support && !tercom.normalized && !tercom.no_punct) {
      throw UserError(origins("ter-asian-support") + ": no effect without --ter-normalized or --ter-no-punct",
                      "add one of them, or leave it out");
    }
  }

  Bleu bleu() const { return Bleu({.tokenize = tokenize, .smoothing = smoothing, .lowercase = lowercase}); }
  Chrf chrf() const { return Chrf({.word_order = static_cast<int>(chrf_word_order), .lowercase = lowercase}); }
  Ter ter() const { return Ter(tercom); }
};

}  // namespace attend::metrics
