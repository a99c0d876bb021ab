// From the hidden states of a text to one vector (pooling.cpp).
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/options.hpp"
#include "data/batch/batch.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/layers/pass.hpp"

namespace attend {

// An encoder's output for a batch.
struct Encoded {
  torch::Tensor hidden_MH;
  torch::Tensor last_BH;  // final state of an encoder that reads in a direction; else undefined
};

class PoolingImpl : public torch::nn::Module {
 public:
  // True if it reads only the first token of every sequence; `encoded` then contains only these, [B, H].
  virtual bool reads_first() const { return false; }

  // Returns [B, P].
  virtual torch::Tensor forward(const Encoded& encoded, const SegmentedSequences& input, Pass& pass) const = 0;
};

enum class Pooling { cls, last, mean, attention, alignment };
template <>
inline constexpr auto kEnumNames<Pooling> = std::to_array<EnumName<Pooling>>({
    {Pooling::cls, "cls"},
    {Pooling::last, "last"},
    {Pooling::mean, "mean"},
    {Pooling::attention, "attention"},
    {Pooling::alignment, "alignment"},
});

// `deviation`: standard deviation of the initial weights of BERT's pooler.
std::shared_ptr<PoolingImpl> make_pooling(Pooling pooling, std::int64_t width, double deviation);

// Sentence embeddings: the pooling of an encoder's states into one vector, and its description in a
// sentence-transformers directory (Reimers and Gurevych 2019, arXiv 1908.10084):
//
//   modules.json                  Transformer, Pooling and perhaps Normalize, in this order
//   1_Pooling/config.json         the mean of all tokens, including [CLS] and [SEP], or the state of [CLS]
//   sentence_bert_config.json     max_seq_length, else model_max_length of tokenizer_config.json: where texts are cut
//
// An imported run keeps these settings in RUN/embed.toml.

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
