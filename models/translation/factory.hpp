// Builds a translation model from its options, which it checks.
#pragma once

#include <cstdint>
#include <optional>

#include "core/conditions.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/translation/config.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

// Throws UserError if options that apply contradict each other, which does not depend on the data, or if the width is
// auto.
void check_model(const ModelConfig& config, const OptionPlace& place);

struct VocabularySizes {
  std::int64_t src = 0;
  std::int64_t tgt = 0;
};
VocabularySizes sizes_of(const TokenizerPair& tokenizers);

// Throws UserError if embeddings are tied, but the vocabularies have different sizes.
void check_vocabularies(const ModelConfig& config, const VocabularySizes& vocabulary);

// Builds the model that `config` describes, initialised from `seed`; without a seed, parameters are uninitialised, for
// weights to be loaded. Throws UserError if sizes are auto, or if options contradict each other, belong to another
// family, or tie vocabularies of different sizes.
Seq2Seq make_seq2seq(const ModelConfig& config, const VocabularySizes& vocabulary, std::optional<std::uint64_t> seed);

}  // namespace attend
