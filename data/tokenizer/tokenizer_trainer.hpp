// Trains a tokenizer on text: SentencePiece's unigram, BPE, word and character models.
//
// The same lines and options give the same bytes, whatever the paths and the number of processors. Every model has
// pad 0, unk 1, bos 2, eos 3, cls 4, sep 5 and mask 6.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/tokenizer/sentencepiece_model.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

template <>
inline constexpr auto kEnumNames<TokenizerType> = std::to_array<EnumName<TokenizerType>>({
    {TokenizerType::unigram, "unigram"},
    {TokenizerType::bpe, "bpe"},
    {TokenizerType::word, "word"},
    {TokenizerType::character, "char"},
});

// nmt_nfkc: Unicode's NFKC, with control characters removed and unusual spaces replaced. nfkc: NFKC only. identity:
// none.
enum class Normalisation { nmt_nfkc, nfkc, identity };
template <>
inline constexpr auto kEnumNames<Normalisation> = std::to_array<EnumName<Normalisation>>(
    {{Normalisation::nmt_nfkc, "nmt_nfkc"}, {Normalisation::nfkc, "nfkc"}, {Normalisation::identity, "identity"}});

struct TokenizerConfig {
  TokenizerType type = TokenizerType::unigram;
  std::optional<std::int64_t> size = {};
  std::optional<double> character_coverage = {};
  bool byte_fallback = false;
  Normalisation normalisation = Normalisation::nmt_nfkc;
  bool lower_case = false;
  std::optional<std::int64_t> sample = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Tokenizer");
    visit("type", self.type, {.help = "kind of vocabulary"});
    visit("size", self.size,
          {.help = "size of the vocabulary, including special pieces; auto: up to 8000, 16000 from 1 million lines, "
                   "32000 from 5 million",
           .min = 16,
           .max = 1e6});
    visit(
        "character-coverage", self.character_coverage,
        {.help = "share of the text's characters that are in the vocabulary; auto: 1, or 0.9995 if there are more than "
                 "1000 distinct ones",
         .min = 0.9,
         .max = 1});
    visit("byte-fallback", self.byte_fallback,
          {.help = "spell unknown characters as bytes, so that nothing is unknown"});
    visit("normalisation", self.normalisation, {.help = "Unicode normalisation of the text"});
    visit("lower-case", self.lower_case, {.help = "lower-case the text"});
    visit("sample", self.sample,
          {.help = "lines to train on, a uniform sample if the text has more; auto: 20 MB of text",
           .min = 100,
           .max = 1e9});
  }
};

// Reads all lines of all files. Throws UserError if a file cannot be read, there is no text, or the vocabulary is too
// large or too small for it, and Interrupted if a signal requests a stop: a thread may still be training then, so the
// process must end without running destructors of static objects (_exit).
Tokenizer train_tokenizer(const std::vector<std::string>& files, const TokenizerConfig& config);

// Warns if the options of a training request a tokenizer other than the given one, since none is trained.
void warn_of_other(const TokenizerConfig& wanted, const Tokenizer& given);

}  // namespace attend
