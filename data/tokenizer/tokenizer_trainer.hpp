// Learns a vocabulary from text: SentencePiece's unigram, BPE, word and character models.
//
// The same lines and the same options give the same bytes, wherever the files lie and however many processors there
// are. Every model has pad 0, unk 1, bos 2, eos 3, cls 4, sep 5 and mask 6.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

enum class TokenizerType { unigram, bpe, word, character };
template <>
struct EnumNames<TokenizerType> {
  static constexpr std::array names{std::pair{TokenizerType::unigram, std::string_view("unigram")},
                                    std::pair{TokenizerType::bpe, std::string_view("bpe")},
                                    std::pair{TokenizerType::word, std::string_view("word")},
                                    std::pair{TokenizerType::character, std::string_view("char")}};
};

// nmt_nfkc: Unicode's NFKC, and control characters and odd spaces put right. nfkc: NFKC alone. identity: none.
enum class Normalisation { nmt_nfkc, nfkc, identity };
template <>
struct EnumNames<Normalisation> {
  static constexpr std::array names{std::pair{Normalisation::nmt_nfkc, std::string_view("nmt_nfkc")},
                                    std::pair{Normalisation::nfkc, std::string_view("nfkc")},
                                    std::pair{Normalisation::identity, std::string_view("identity")}};
};

struct TokenizerConfig {
  TokenizerType type = TokenizerType::unigram;
  std::optional<std::int64_t> size = {};
  std::optional<double> character_coverage = {};
  bool byte_fallback = false;
  Normalisation normalisation = Normalisation::nmt_nfkc;
  bool lower_case = false;
  std::int64_t sample = 2'000'000;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Tokenizer");
    visit("type", self.type, {.help = "kind of vocabulary"});
    visit(
        "size", self.size,
        {.help = "pieces of the vocabulary, the special ones among them; auto: up to 8000, 16000 from 1 million lines, "
                 "32000 from 5 million",
         .min = 16,
         .max = 1e6});
    visit("character-coverage", self.character_coverage,
          {.help = "share of the text's characters that get a piece; auto: 1, or 0.9995 where there are more than "
                   "1000 different ones",
           .min = 0.9,
           .max = 1});
    visit("byte-fallback", self.byte_fallback, {.help = "spell unknown characters as bytes: nothing is ever unknown"});
    visit("normalisation", self.normalisation, {.help = "what is done to the text first"});
    visit("lower-case", self.lower_case, {.help = "lower all letters: the tokenizer forgets case"});
    visit("sample", self.sample,
          {.help = "lines that it is learnt from, drawn evenly where there are more", .min = 100, .max = 1e9});
  }
};

// Reads all lines of all files. UserError when a file cannot be read, when there is no text, or when the vocabulary is
// too large or too small for it.
Tokenizer train_tokenizer(const std::vector<std::string>& files, const TokenizerConfig& config);

// Says so where the options of a training ask for another tokenizer than the one that it has without learning it.
void warn_of_other(const TokenizerConfig& wanted, const Tokenizer& given);

}  // namespace attend
