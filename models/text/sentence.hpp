// Sentence embeddings: the pooling of an encoder's states into one vector, and its description in a
// sentence-transformers directory (Reimers and Gurevych 2019, arXiv 1908.10084):
//
//   modules.json                  Transformer, Pooling and perhaps Normalize, in this order
//   1_Pooling/config.json         the mean of all tokens, including [CLS] and [SEP], or the state of [CLS]
//   sentence_bert_config.json     max_seq_length, else model_max_length of tokenizer_config.json: where texts are cut
//
// An imported run keeps these settings in RUN/embed.toml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/options.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

enum class SentencePooling { mean, cls };
template <>
inline constexpr auto kEnumNames<SentencePooling> =
    std::to_array<EnumName<SentencePooling>>({{SentencePooling::mean, "mean"}, {SentencePooling::cls, "cls"}});

struct SentenceOptions {
  SentencePooling pooling = SentencePooling::mean;
  bool normalise = false;
  std::optional<std::int64_t> max_length = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("pooling", self.pooling,
          {.help = "mean of the states of all tokens, including [CLS] and [SEP], or the state of [CLS]; an imported "
                   "sentence encoder has its own defaults for this and the next two options"});
    visit("normalise", self.normalise, {.help = "scale every vector to length 1"});
    visit("max-length", self.max_length,
          {.help = "maximum tokens of a text, including [CLS] and [SEP]; longer texts are truncated; auto: the "
                   "encoder's maximum",
           .min = 3,
           .max = 65535});
  }
};

inline constexpr const char* kEmbedFile = "embed.toml";  // in a run

// Reads the settings of a directory for an encoder with `positions` positions; nullopt without modules.json. Throws
// UserError naming the file for unsupported modules, poolings and tokenization.
std::optional<SentenceOptions> read_sentence_transformer(const std::filesystem::path& directory,
                                                         const Tokenizer& tokenizer, std::int64_t positions);

}  // namespace attend
